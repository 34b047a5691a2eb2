import { XMLBuilder, XMLParser } from "fast-xml-parser";
import { z } from "zod";

const builder = new XMLBuilder({ ignoreAttributes: false, suppressEmptyNode: true });
/** With `htmlEntities` the library decodes numeric character references: Go's SDK writes quotes as `&#34;`. */
const parser = new XMLParser({
  parseTagValue: false,
  htmlEntities: true,
  isArray: (name) => name === "Part",
});

const CompleteSchema = z.object({
  CompleteMultipartUpload: z.object({
    Part: z
      .array(
        z.object({
          PartNumber: z
            .string()
            .regex(/^[1-9]\d{0,4}$/)
            .transform(Number),
          ETag: z.string(),
        }),
      )
      .min(1),
  }),
});

/** A part as a client names it to complete an upload; the ETag without its quotes. */
export interface NamedPart {
  readonly number: number;
  readonly etag: string;
}

/** Writes an XML document. */
export function buildXml(document: object): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(document)}`;
}

/** Reads the body of CompleteMultipartUpload; `undefined` when it is anything else. */
export function parseCompleteMultipart(text: string): NamedPart[] | undefined {
  const parsed = CompleteSchema.safeParse(parseLeniently(text));
  return parsed.data?.CompleteMultipartUpload.Part.map((part) => ({
    number: part.PartNumber,
    etag: part.ETag.replace(/^"|"$/g, ""),
  }));
}

function parseLeniently(text: string): unknown {
  try {
    return parser.parse(text, true);
  } catch {
    return undefined;
  }
}
