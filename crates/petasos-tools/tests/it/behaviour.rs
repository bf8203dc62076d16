//! Rows of the page on behaviour, and cases of other agents' reports.

mod case_c_arguments;
mod case_f_commands;
mod case_f_endings;
mod case_f_files;
mod case_f_places;
mod case_g10;
mod case_g11;
mod case_g12_mask;
mod case_g12_results;
mod l09_errors;
mod p09_any_text;
mod p09_schema;
mod t02_answers;
mod t02_commands;
mod t02_encodings;
mod t02_fetch;
mod t02_files;
mod t02_search;
mod t03_closed;
mod t03_edits;
mod t03_race;
mod t03_rights;
mod t03_seen;
mod t03_workspace;
mod t03_writes;
mod t08_results;
