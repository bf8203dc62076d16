//! The page on events, and the events.
