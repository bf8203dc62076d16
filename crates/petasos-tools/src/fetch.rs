//! Pages from the network: which addresses may be reached.

pub(crate) mod address;
