//! Writers of NumPy files.

/// Returns a `.npy` file of version 1.0. `columns_first` says that the data is in column-major order.
pub fn file(descr: &str, columns_first: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if columns_first { "True" } else { "False" };
    versioned(
        1,
        &format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"),
        data,
    )
}

/// Returns a `.npy` file of `version` with `literal` as its header, which may be any text.
pub fn versioned(version: u8, literal: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend(u16::try_from(literal.len()).unwrap().to_le_bytes()),
        _ => bytes.extend(u32::try_from(literal.len()).unwrap().to_le_bytes()),
    }
    bytes.extend(literal.as_bytes());
    bytes.extend(data);
    bytes
}
