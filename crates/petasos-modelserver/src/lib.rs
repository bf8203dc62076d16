//! A scripted model server: it says what a script says, fails as a script fails, and keeps every request.
