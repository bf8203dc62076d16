//! How much the results of one step may say together.

/// What is left for the results of a step.
#[derive(Debug, Default)]
pub struct StepRoom;
