/** The manifests before the killed apply: five attachments, one of them uploaded. */
export const before = {
  "manifests/a.yaml": `draft: 1
product_files:
  - { file_id: 13, file_format: fbx }
  - { file_id: 14 }
  - { source: model.bin, file_format: blender }
---
draft: 2
product_files: [{ file_id: 22, renderer: arnold }, { file_id: 23 }]
`,
  "manifests/model.bin": "the first content",
};

/**
 * The manifests of the killed apply: twelve writing operations of every kind (attach a product file and a promotional file,
 * update, detach, upload, attach and detach for a new content, publish; attach, update, publish; duplicate).
 */
export const after = {
  "manifests/a.yaml": `draft: 1
product_files:
  - { file_id: 11, file_format: obj }
  - { file_id: 13, file_format: glb }
  - { source: model.bin, file_format: blender }
promotional_files: [{ file_id: 12, description: "Lit from the left" }]
publish: true
---
draft: 2
product_files: [{ file_id: 21 }, { file_id: 22, renderer: cycles }, { file_id: 23 }]
publish: true
---
duplicates: [{ name: copy, product: 5 }]
`,
  "manifests/model.bin": "the second content",
};

/** The files attached at the end; the service chooses the id of the uploaded one. */
export const desired = [
  { draftId: 1, kind: "product_file", fileId: 11, attributes: { file_format: "obj" } },
  { draftId: 1, kind: "product_file", fileId: 13, attributes: { file_format: "glb" } },
  { draftId: 1, kind: "product_file", fileId: "uploaded", attributes: { file_format: "blender" } },
  { draftId: 1, kind: "promotional_file", fileId: 12, attributes: { description: "Lit from the left" } },
  { draftId: 2, kind: "product_file", fileId: 21, attributes: {} },
  { draftId: 2, kind: "product_file", fileId: 22, attributes: { renderer: "cycles" } },
  { draftId: 2, kind: "product_file", fileId: 23, attributes: {} },
] as const;
