//! SIGKILL before and after every append.
