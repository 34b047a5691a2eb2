import { z } from "zod";
import { FIRST_OWN_ID } from "../id-ranges.ts";
import { prepareRow, prepareRows, type SqliteDatabase } from "./database.ts";
import { jsonText } from "./json-text.ts";

/** A file a draft had when it was published. */
export interface PublishedFile {
  readonly kind: "product_file" | "promotional_file";
  readonly fileId: number;
  readonly attributes: Readonly<Record<string, string | boolean>>;
}

/** A product. */
export interface Product {
  readonly id: number;
  /** `null` for one that existed before the sandbox. */
  readonly draftId: number | null;
  /** The product it was duplicated from. */
  readonly duplicateOf: number | null;
  /** Epoch milliseconds; `null` for one that existed before the sandbox. */
  readonly publishedAt: number | null;
  /** What was attached to the draft at that moment. */
  readonly files: readonly PublishedFile[];
}

/** The products made by the sandbox, and which were taken away. */
export interface Products {
  add(product: Omit<Product, "id" | "publishedAt"> & { publishedAt: number }): Product;
  find(id: number): Product | undefined;
  /** Takes away a product, made here or before; there is no call for that. */
  remove(id: number): void;
  isRemoved(id: number): boolean;
  list(): Product[];
}

const COLUMNS = "number, draft_id, duplicate_of, published_at, files";

const ProductRow = z
  .object({
    number: z.number(),
    draft_id: z.number().nullable(),
    duplicate_of: z.number().nullable(),
    published_at: z.number(),
    files: jsonText(
      z.array(
        z.object({
          kind: z.enum(["product_file", "promotional_file"]),
          fileId: z.number(),
          attributes: z.record(z.string(), z.union([z.string(), z.boolean()])),
        }),
      ),
    ),
  })
  .transform(
    (row): Product => ({
      id: FIRST_OWN_ID + row.number,
      draftId: row.draft_id,
      duplicateOf: row.duplicate_of,
      publishedAt: row.published_at,
      files: row.files,
    }),
  );

/** Opens the products of a database. */
export function openProducts(database: SqliteDatabase): Products {
  const insert = prepareRow(
    database,
    `INSERT INTO product (draft_id, duplicate_of, published_at, files) VALUES (?, ?, ?, ?) RETURNING ${COLUMNS}`,
    ProductRow,
  );
  const select = prepareRow(database, `SELECT ${COLUMNS} FROM product WHERE number = ?`, ProductRow);
  const all = prepareRows(database, `SELECT ${COLUMNS} FROM product ORDER BY number`, ProductRow);
  const removed = prepareRow(
    database,
    "SELECT id FROM removed_product WHERE id = ?",
    z.object({ id: z.number() }),
  );
  const remove = database.prepare("INSERT INTO removed_product (id) VALUES (?) ON CONFLICT DO NOTHING");
  const drop = database.prepare("DELETE FROM product WHERE number = ?");
  return {
    add(product) {
      const row = insert(
        product.draftId,
        product.duplicateOf,
        product.publishedAt,
        JSON.stringify(product.files),
      );
      if (row === undefined) throw new Error("SQLite answered no row to an INSERT … RETURNING.");
      return row;
    },
    find: (id) => select(id - FIRST_OWN_ID),
    remove(id) {
      remove.run(id);
      drop.run(id - FIRST_OWN_ID);
    },
    isRemoved: (id) => removed(id) !== undefined,
    list: () => all(),
  };
}
