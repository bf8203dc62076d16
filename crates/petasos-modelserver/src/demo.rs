//! A short job that works without a model: for someone who wants to see an agent at work, and for what that shows.

/// What a person says to begin it.
pub const DEMO_TASK: &str =
    "Write the three longest lines of notes.txt to longest.txt, the longest one first.";

/// The script of the job: four steps with `list_files`, `read_file` and `write_file`. Its lines are chosen by the number
/// of results, so that the job goes on after an interrupt as it would have.
pub const DEMO: &str = include_str!("../scripts/demo.jsonl");

/// The files that have to be in the workspace for the job, by name. Its answer is right for these.
pub const DEMO_FILES: &[(&str, &str)] = &[("notes.txt", include_str!("../scripts/notes.txt"))];
