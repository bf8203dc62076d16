//! The binary `petasos`.

fn main() {}
