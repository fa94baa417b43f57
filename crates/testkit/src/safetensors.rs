//! Generates safetensors files whose tensors lie one after another in the data.

use zten_corpus::other::safetensors;

/// Returns the header of a safetensors file in the shortest form. Each item of `tensors` is a name, a dtype, a shape and the number
/// of bytes. Names must need no escape in JSON.
pub fn header<'d, N: AsRef<str>, S: AsRef<[u64]>>(
    tensors: impl IntoIterator<Item = (N, &'d str, S, u64)>,
) -> String {
    let mut end = 0;
    let entries = tensors.into_iter().map(|(name, dtype, shape, bytes)| {
        let (name, begin) = (name.as_ref(), end);
        end += bytes;
        let shape: Vec<_> = shape.as_ref().iter().map(u64::to_string).collect();
        let shape = shape.join(",");
        format!(
            r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{begin},{end}]}}"#
        )
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

/// Returns a safetensors file of `tensors`, as [`header`] takes them, whose data is `data`.
pub fn file<'d, N: AsRef<str>, S: AsRef<[u64]>>(
    tensors: impl IntoIterator<Item = (N, &'d str, S, u64)>,
    data: &[u8],
) -> Vec<u8> {
    safetensors::file(&header(tensors), data)
}
