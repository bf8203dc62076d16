//! The shell around the loop: sessions that run, their tools, models and stores.
