//! The tensors that a conversion leaves out: those that are not read, and opaque ones that the output format cannot hold.

use zten::formats::write::WrittenFormat;
use zten::manifest::ElementType;
use zten::num::u64_from_usize;
use zten::{Component, Layout, State, Tensor};
use zten_report::blocks::{reason, state};

use super::select::Selection;
use crate::args::Convert;
use crate::escape;
use crate::input::file::TensorFile;
use crate::link::status::Status;
use crate::output::report::Problem;

/// The largest number of left-out tensors that the line for the user names.
const NAMES: usize = 16;
/// The largest number of terminal columns of the name, and of the type, of a tensor in that line.
const NAME: usize = 40;

/// The number of tensors that a conversion leaves out of its output, and the names and reasons of the first ones.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    count: u64,
    /// The names and reasons of the first [`NAMES`] tensors that are left out, as text for the user.
    first: Vec<String>,
    /// The ordinal of the first left-out tensor that is unread, or of the first left-out tensor if none is unread.
    ordinal: Option<u32>,
    has_unread: bool,
}

impl LeftOut {
    /// Removes from `selection` the tensors of `archive` that a file of the format `target` leaves out, and returns them.
    /// Also removes the fields of records if the records themselves are written. Such fields do not count as left out.
    pub(super) fn find(
        target: WrittenFormat,
        archive: &TensorFile,
        selection: &mut Selection,
    ) -> Result<Self, String> {
        let (mut left_out, mut removed) = (Self::default(), Vec::new());
        let mut remove = |tensor: &Tensor<'_>| {
            removed.try_reserve(1).map_err(|_| "out of memory".to_owned())?;
            removed.push((tensor.ordinal(), tensor.ordinal()));
            Ok::<(), String>(())
        };
        // The byte range of the last written tensor that is not a field of records. Fields come right after their records,
        // and have the same range.
        let mut written = None;
        for at in 0..selection.len(archive) {
            let Some(tensor) = archive.manifest().tensor_at(selection.ordinal(at)) else {
                continue;
            };
            let extent = tensor.component("data").map(|component| component.extent().range());
            if tensor.components().any(|component| component.is_field_of_records()) {
                if extent.is_some() && written == extent {
                    remove(&tensor)?;
                }
                continue;
            }
            match why(target, &tensor) {
                Some(why) => {
                    left_out.add(&tensor, &why);
                    remove(&tensor)?;
                }
                None => written = extent,
            }
        }
        selection.leave_out(archive, &removed)?;
        Ok(left_out)
    }

    fn add(&mut self, tensor: &Tensor<'_>, why: &str) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < NAMES {
            self.first.push(format!("{} ({why})", escape::word(tensor.name(), NAME)));
        }
        let is_unread = matches!(tensor.state(), State::Unread(_));
        if self.ordinal.is_none() || is_unread && !self.has_unread {
            self.ordinal = Some(tensor.ordinal());
        }
        self.has_unread |= is_unread;
    }

    /// Returns an error if every selected tensor is left out.
    pub(super) fn check(
        &self,
        args: &Convert,
        archive: &TensorFile,
        selection: &Selection,
    ) -> Result<(), Box<Problem>> {
        let first = self.ordinal.filter(|_| selection.len(archive) == 0);
        let Some(tensor) = first.and_then(|ordinal| archive.manifest().tensor_at(ordinal)) else {
            return Ok(());
        };
        let unread = tensor.components().find_map(|component| component.readable().err());
        if let Some(error) = unread {
            return Err(Box::new(Problem::reading(&args.input, archive, &error)));
        }
        let types = tensor.components().map(|component| component.type_name());
        let name = escape::word(types.last().unwrap_or_default(), NAME);
        let sentence =
            format!("its type {name} exists only in NumPy, and the output cannot hold it");
        Err(Box::new(Problem::unwritable(&args.input, Some(tensor.name()), &sentence)))
    }

    /// Returns a line that names the tensors, or `None` if none is left out.
    pub(super) fn line(&self) -> Option<String> {
        let more = u64_from_usize(self.first.len()) < self.count;
        let names = self.first.join(", ");
        (self.count > 0).then(|| format!("left out: {names}{}", if more { ", …" } else { "" }))
    }

    /// Returns the exit status of a conversion that leaves these tensors out.
    pub(super) fn status(&self) -> Status {
        if self.has_unread { Status::Unsupported } else { Status::Success }
    }
}

/// Returns why `tensor` is left out of a file of the format `target`, or `None` if it is written. Tensors of zTensor files are
/// never left out: their writers reject the ones that they cannot write.
fn why(target: WrittenFormat, tensor: &Tensor<'_>) -> Option<String> {
    if tensor.components().any(|component| component.generation().is_some()) {
        return None;
    }
    let state = state(tensor);
    if let Some(rule) = reason(state) {
        return Some(format!("unread: {rule}"));
    }
    let is_numpy = matches!(target, WrittenFormat::Npz | WrittenFormat::Npy);
    let name = tensor.components().find_map(|component| opaque(&component).map(|(name, _)| name));
    let is_held = is_numpy && tensor.layout() == Layout::Dense;
    name.filter(|_| !is_held).map(|name| {
        let (name, suffix) = (escape::word(name, NAME), target.suffix());
        format!("opaque: a .{suffix} file cannot hold the type {name}")
    })
}

/// Returns the name and the size of the opaque type of the elements of `component`, if they are of such a type.
pub(super) fn opaque<'a>(component: &Component<'a>) -> Option<(&'a str, u64)> {
    match component.element_type() {
        ElementType::Opaque(name, size) => Some((name, size)),
        _ => None,
    }
}
