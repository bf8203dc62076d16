//! What keeps: logs and blobs.
