//! What users get wrong, a test for each row of the table in README.
