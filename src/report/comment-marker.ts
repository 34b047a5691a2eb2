import { cutText } from "./sanitize-markdown.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/**
 * The first line of a comment, by which a bot finds it again: `<!-- draftsync:plan workspace=studio-a -->`. The same for
 * every comment of a kind and a workspace. What could end the HTML comment is percent-encoded.
 */
export function commentMarker(kind: "plan" | "drift", workspace: string): string {
  const name = encodeURIComponent(cutText(sanitizeLine(workspace), 80)).replaceAll("--", "%2D%2D");
  return `<!-- draftsync:${kind} workspace=${name} -->`;
}
