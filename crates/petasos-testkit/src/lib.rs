//! What tests speak in.
