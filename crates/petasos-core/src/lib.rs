//! What decides: the session and its turn.
