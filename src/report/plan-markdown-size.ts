/** A comment on GitHub has at most 65,536 characters. A bot that puts a line of its own around the plan has some left. */
export const markdownChars = 65_000;

/** In fewer, not even what stands above and below the changes would fit. */
export const leastMarkdownChars = 4_000;
