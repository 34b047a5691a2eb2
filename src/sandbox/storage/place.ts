/** The one bucket, and so the first segment of every storage path. */
export const BUCKET = "draftsync-sandbox";
/** The region of the credentials. */
export const REGION = "us-east-1";
