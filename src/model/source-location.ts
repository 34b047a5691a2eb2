/**
 * A place in a text, packed into one number so that a hundred thousand of them cost little:
 * `line * 2^20 + column`, both counted from 1. A column past 2^20 - 1 is kept as 2^20 - 1.
 */
export type Position = number;

/** The location of a value in a manifest: the file relative to the workspace, line and column from 1. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const base = 2 ** 20;

/** Packs a line and a column, both counted from 1. */
export function packPosition(line: number, column: number): Position {
  return line * base + Math.min(column, base - 1);
}

/** The line of a packed position, from 1. */
export function lineOf(position: Position): number {
  return Math.floor(position / base);
}

/** The column of a packed position, from 1. */
export function columnOf(position: Position): number {
  return position % base;
}

/** A position by how many lines it is below another one, and by its own column: the same for values that are laid out alike. */
export function offsetFrom(start: Position, position: Position): Position {
  return position - lineOf(start) * base;
}

/** The position at an offset, as {@link offsetFrom} has it. */
export function positionAt(start: Position, offset: Position): Position {
  return offset + lineOf(start) * base;
}

/** A packed position in a file, spelled out. */
export function locationAt(file: string, position: Position): SourceLocation {
  return { file, line: lineOf(position), column: columnOf(position) };
}

/** `file:line:column`, as editors and terminals link it. */
export function formatLocation(place: SourceLocation): string {
  return `${place.file}:${place.line}:${place.column}`;
}

/** `file:line`, for people. */
export function formatLine({
  file,
  position,
}: {
  readonly file: string;
  readonly position: Position;
}): string {
  return `${file}:${lineOf(position)}`;
}
