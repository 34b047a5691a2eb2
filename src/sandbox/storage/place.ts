/** The one bucket, and so the first segment of every storage path. */
export const BUCKET = "draftsync-sandbox";
/** The region that requests are signed for. */
export const REGION = "us-east-1";
