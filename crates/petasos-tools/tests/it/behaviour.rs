//! Rows of the page on behaviour, and cases of other agents' reports.

mod t02_commands;
mod t02_files;
