//! What objects and components of one generation become in another.

use crate::element::{ByteOrder, LogicalType, StorageType};
use crate::error::{Error, Place};
use crate::format::{Format, IndexTypes};
use crate::layout::Widened;
use crate::manifest::{Component, ElementType, Object};
use crate::rules::{Rule, Unsupported};
use crate::write::settings::Target;

/// The name of an object's format.
pub(super) fn format<'a>(object: &Object<'a>, target: &Target) -> Result<&'a str, Error> {
    let (format, name) = (object.format(), object.format_name());
    let writing = target.writing;
    if let Some(name) = (writing.format_name)(format) {
        return Ok(name);
    }
    let there = (writing.format)(name.as_bytes());
    // What is a profile of 2 is a format that is not known in 1.2, and may come back.
    let kept = match format {
        Format::Unknown => there == Format::Unknown || !is_named_1_2(there),
        _ => there == format || there == Format::Unknown && format != Format::QuantizedGroup,
    };
    let place = Place::new(Some(object.ordinal()), None);
    kept.then_some(name).ok_or(Error::nowhere(Unsupported::Format).at(place))
}

/// Whether a format is one of 1.2, whose names have no version.
fn is_named_1_2(format: Format) -> bool {
    matches!(format, Format::Dense | Format::SparseCsr | Format::SparseCoo | Format::QuantizedGroup)
}

/// What the elements of a component are.
pub(super) fn element<'a>(
    part: &Component<'a>,
    change: Change,
    target: &Target,
) -> Result<ElementType<'a>, Error> {
    let refused = |error: Error| Err(error.at(part.place()));
    let known = |logical: LogicalType| (target.writing.logical_type)(logical.name().as_bytes());
    match part.element_type() {
        _ if matches!(change, Change::Widen(_)) => Ok(ElementType::Plain(StorageType::U64)),
        // A dtype of 1.1 that would be a `type`, where another stands already.
        ElementType::UnknownOnLogical(..) => refused(Error::nowhere(Rule::LogicalTypeStorage)),
        // Readers of 1.2 list it, and show the storage type.
        ElementType::Logical(logical) if known(logical).is_none() => {
            Ok(ElementType::UnknownLogical(logical.name(), logical.storage()))
        }
        ElementType::UnknownLogical(name, storage)
            if name == storage.name() && !target.writing.bool_is_type =>
        {
            refused(Error::nowhere(Unsupported::LogicalType))
        }
        element => Ok(element),
    }
}

/// What is done to the elements of a component of an object.
pub(super) fn change(object: &Object<'_>, part: &Component<'_>, target: &Target) -> Change {
    match part.storage_type() {
        Some(storage) if is_index(object, part) && !keeps_indices(object, target) => {
            if storage == StorageType::U64 { Change::Nothing } else { Change::Widen(storage) }
        }
        Some(StorageType::Bool) if part.dialect().bool_value.is_none() => Change::Bools,
        _ => Change::Nothing,
    }
}

fn is_index(object: &Object<'_>, part: &Component<'_>) -> bool {
    match object.format() {
        Format::SparseCsr => matches!(part.role(), "indices" | "indptr"),
        Format::SparseCoo => part.role() == "coords",
        _ => false,
    }
}

/// Whether all indices of an object are of a type that the target allows, and of the same.
fn keeps_indices(object: &Object<'_>, target: &Target) -> bool {
    let types = target.writing.dialect.index_types;
    let indices = || object.components().filter(|part| is_index(object, part));
    let first = indices().next().and_then(|part| part.storage_type());
    let same = indices().all(|part| part.storage_type() == first);
    let allowed = indices().all(|part| part.storage_type().is_some_and(|own| types.allow(own)));
    allowed && (same || types != IndexTypes::Unsigned)
}

/// The conversion of the elements of a component on the way.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Nothing,
    /// Indices of that type become `u64`.
    Widen(StorageType),
    /// All but 0 becomes 1.
    Bools,
}

/// Bytes that are changed in one go.
const PIECE: usize = 4096;

impl Change {
    /// Hands what becomes of a chunk to `out`.
    pub(super) fn apply<E: From<Error>>(
        self,
        chunk: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Nothing => out(chunk)?,
            Self::Widen(storage) => {
                let mut buffer = [0; PIECE];
                let mut indices = Widened::new(chunk, storage, ByteOrder::Little);
                while indices.len() > 0 {
                    let slots = buffer.as_chunks_mut::<8>().0;
                    let filled = slots.iter_mut().zip(&mut indices).fold(0, |bytes, (slot, n)| {
                        *slot = n.to_le_bytes();
                        slot.len().saturating_add(bytes)
                    });
                    out(buffer.get(..filled).ok_or(Error::internal())?)?;
                }
            }
            Self::Bools => {
                let mut buffer = [0; PIECE];
                for piece in chunk.chunks(PIECE) {
                    for (slot, byte) in buffer.iter_mut().zip(piece) {
                        *slot = u8::from(*byte != 0);
                    }
                    out(buffer.get(..piece.len()).ok_or(Error::internal())?)?;
                }
            }
        }
        Ok(())
    }
}
