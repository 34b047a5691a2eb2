import { type ApiResponse, type Call, resourceOf } from "./call.ts";

/** A row of a payload table of the document. */
export interface Param {
  /** In the notation of the document: `data[attributes][file_id]`. */
  name: string;
  type: "object" | "string" | "number" | "boolean";
  /** `in effect`: optional in the table but required in practice. */
  required: "required" | "optional" | "in effect";
}

/** One of the fifteen method-and-path pairs of the document. */
export interface Pair {
  method: string;
  path: string;
  payload: Param[];
  /** A body with every param of the table. */
  example?: object;
  /** Status and resource type of the response; `null` for no body, `list` for several resources. */
  expected: { status: number; type: string | null | "list" };
  /** Creates what the path needs and returns a path that can be used once. */
  prepare(send: (request: Call) => Promise<ApiResponse>): Promise<string>;
}

let lastId = 1000;
/** An id that no test has used. */
export function freshId(): number {
  lastId += 1;
  return lastId;
}

const productFields: Param[] = [
  { name: "data[attributes][file_format]", type: "string", required: "optional" },
  { name: "data[attributes][format_version]", type: "string", required: "optional" },
  { name: "data[attributes][renderer]", type: "string", required: "optional" },
  { name: "data[attributes][renderer_version]", type: "string", required: "optional" },
  { name: "data[attributes][is_native]", type: "boolean", required: "optional" },
];
const promotionalFields: Param[] = [
  { name: "data[attributes][description]", type: "string", required: "optional" },
];

const productExample = {
  file_format: "fbx",
  format_version: "2020",
  renderer: "arnold",
  renderer_version: "7.2",
  is_native: false,
};

const wrapper = (data: "required" | "optional", attributes: Param["required"]): Param[] => [
  { name: "data", type: "object", required: data },
  { name: "data[type]", type: "string", required: "required" },
  { name: "data[attributes]", type: "object", required: attributes },
];

function filePairs(kind: "product_file" | "promotional_file", fields: Param[], example: object): Pair[] {
  const path = `/api/drafts/:draft_id/${kind}s`;
  const attach: Pair["prepare"] = async (send) => {
    const [draft, file] = [freshId(), freshId()];
    const body = { data: { type: kind, attributes: { file_id: file } } };
    await send({ method: "POST", path: `/api/drafts/${draft}/${kind}s`, body });
    return `/api/drafts/${draft}/${kind}s/${file}`;
  };
  const update = (method: string): Pair => ({
    method,
    path: `${path}/:id`,
    payload: [...wrapper("optional", "optional"), ...fields],
    example: { data: { type: kind, attributes: example } },
    expected: { status: 200, type: kind },
    prepare: attach,
  });
  return [
    {
      method: "POST",
      path,
      payload: [
        ...wrapper("required", "in effect"),
        { name: "data[attributes][file_id]", type: "number", required: "required" },
        ...fields,
      ],
      example: { data: { type: kind, attributes: { file_id: 77, ...example } } },
      expected: { status: 201, type: kind },
      prepare: async () => `/api/drafts/${freshId()}/${kind}s`,
    },
    update("PATCH"),
    update("PUT"),
    {
      method: "DELETE",
      path: `${path}/:id`,
      payload: [],
      expected: { status: 204, type: null },
      prepare: attach,
    },
  ];
}

const createUpload = async (send: (request: Call) => Promise<ApiResponse>) => {
  const body = { data: { type: "upload", attributes: { upload_key: "incoming/turntable.mp4" } } };
  return resourceOf(await send({ method: "POST", path: "/api/uploads", body })).id;
};

/** The fifteen pairs, in the order of the document. */
export const PAIRS: Pair[] = [
  ...filePairs("product_file", productFields, productExample),
  ...filePairs("promotional_file", promotionalFields, { description: "Hero render" }),
  {
    method: "POST",
    path: "/api/uploads/credentials",
    payload: [],
    expected: { status: 201, type: "upload_credential" },
    prepare: async () => "/api/uploads/credentials",
  },
  {
    method: "POST",
    path: "/api/uploads",
    payload: [
      ...wrapper("required", "optional"),
      { name: "data[attributes][upload_key]", type: "string", required: "optional" },
    ],
    example: { data: { type: "upload", attributes: { upload_key: "incoming/turntable.mp4" } } },
    expected: { status: 201, type: "upload" },
    prepare: async () => "/api/uploads",
  },
  {
    method: "GET",
    path: "/api/uploads/:id",
    payload: [],
    expected: { status: 200, type: "upload" },
    prepare: async (send) => `/api/uploads/${await createUpload(send)}`,
  },
  {
    method: "GET",
    path: "/api/uploads",
    payload: [],
    expected: { status: 200, type: "list" },
    prepare: async (send) => `/api/uploads?filter[id]=${await createUpload(send)}`,
  },
  {
    method: "GET",
    path: "/api/products/:id",
    payload: [],
    expected: { status: 200, type: "product" },
    prepare: async () => `/api/products/${freshId()}`,
  },
  {
    method: "POST",
    path: "/api/products",
    payload: [
      { name: "data", type: "object", required: "required" },
      { name: "data[type]", type: "string", required: "required" },
      { name: "data[relationships]", type: "object", required: "in effect" },
      { name: "data[relationships][draft]", type: "object", required: "in effect" },
      { name: "data[relationships][draft][data]", type: "object", required: "in effect" },
      { name: "data[relationships][draft][data][type]", type: "string", required: "in effect" },
      { name: "data[relationships][draft][data][id]", type: "string", required: "in effect" },
    ],
    example: {
      data: { type: "product", relationships: { draft: { data: { type: "draft", id: "48213" } } } },
    },
    expected: { status: 201, type: "product" },
    prepare: async () => "/api/products",
  },
  {
    method: "POST",
    path: "/api/products/:id/duplicate",
    payload: [],
    expected: { status: 201, type: "product" },
    prepare: async () => `/api/products/${freshId()}/duplicate`,
  },
];

/** The name of a pair in test names: `POST /api/uploads`. */
export const nameOf = (pair: Pair): string => `${pair.method} ${pair.path}`;

/** The member names of a param: `data[type]` is `["data", "type"]`. */
export const stepsOf = (name: string): string[] => name.replaceAll("]", "").split("[");

/** A copy of a document with a member set, or removed if the value is `undefined`. */
export function withMember(document: object, steps: string[], value: unknown): object {
  const [first = "", ...rest] = steps;
  const members: Record<string, unknown> = { ...document };
  const inner = members[first];
  if (rest.length > 0) {
    members[first] = withMember(typeof inner === "object" && inner !== null ? inner : {}, rest, value);
  } else if (value === undefined) {
    delete members[first];
  } else {
    members[first] = value;
  }
  return members;
}
