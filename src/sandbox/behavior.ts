import { z } from "zod";

/** One of several status codes, also as the text a command line carries. */
const statusOf = <const Codes extends readonly [number, ...number[]]>(codes: Codes, usual: Codes[number]) =>
  z
    .preprocess(
      (value) => (typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value),
      z.literal(codes),
    )
    .default(usual);

/**
 * How the sandbox reads what the interface document leaves open. Every switch stands alone, and its default is
 * the reading the client takes as its own default. Parses `--behavior name=value` pairs as they are
 * (`{ updateStatus: "204" }`); an unknown name is an error.
 */
export const BehaviorSchema = z.strictObject({
  /** `file`: `data.id` of an attachment is its file id. `other`: an id of its own; paths still take the file id. */
  dataId: z.enum(["file", "other"]).default("file"),
  /** Answer to attaching a file; 204 has no body. */
  createStatus: statusOf([200, 201, 202, 204], 201),
  /** Answer to PATCH and PUT; 204 has no body. */
  updateStatus: statusOf([200, 202, 204], 200),
  /** Answer to DELETE; 200 and 202 carry `{"meta":{}}`. */
  deleteStatus: statusOf([200, 202, 204], 204),
  /** Answer to creating an upload and to credentials; 204 has no body. */
  uploadStatus: statusOf([200, 201, 202, 204], 201),
  /** Answer to publishing and duplicating; 204 has no body. */
  productStatus: statusOf([200, 201, 202, 204], 201),
  /**
   * An update that names no attribute: `allowed` changes nothing and answers the resource, `rejected` is a 422, `clears`
   * takes all attributes away and answers what is left.
   */
  probe: z.enum(["allowed", "rejected", "clears"]).default("allowed"),
  /** PUT: `same` as PATCH; `replaces` all attributes, so that those it does not name are gone; `refused` is a 405. */
  put: z.enum(["same", "replaces", "refused"]).default("same"),
  /** Attaching a file that is attached: 409, 422, or a second success that sets the attributes it names. */
  doubleAttach: z.enum(["conflict", "invalid", "accepted"]).default("conflict"),
  /** JSON:API error objects, or RFC 9457 `application/problem+json`. */
  errors: z.enum(["jsonapi", "problem"]).default("jsonapi"),
  /**
   * `jsonapi`: bodies have the media type of JSON:API, parameters are ignored. `strict`: parameters on `Content-Type` are a
   * 415, parameters beyond the version (and `q`) on `Accept` a 406. `lenient`: `application/json` is accepted, too.
   */
  mediaTypes: z.enum(["jsonapi", "strict", "lenient"]).default("jsonapi"),
  /** Attributes and relationships that the document does not list: 422, or without effect. */
  unknownAttributes: z.enum(["refused", "ignored"]).default("refused"),
  /** The relationships of a returned product, which JSON:API makes optional. */
  relationships: z.enum(["present", "omitted"]).default("present"),
  /** Ids of products that this sandbox did not make: products that existed before it, or 404. */
  unknownProducts: z.enum(["found", "missing"]).default("found"),
  /** The query parameter of `GET /api/uploads` that carries the ids. */
  uploadsQuery: z.string().min(1).default("filter[id]"),
});

/** The behavior in force, every switch decided. */
export type Behavior = z.infer<typeof BehaviorSchema>;
