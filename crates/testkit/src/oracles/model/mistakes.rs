//! Mistakes that the caller of the writer can make in an object.

use arbitrary::{Result, Unstructured};
use zten::element::StorageType;

use super::generate::raw;
use super::objects::{ROLES, element};
use super::{Element, ModelComponent, ModelObject};

/// Makes at most two mistakes in an object. The result may still be valid.
pub(super) fn make(u: &mut Unstructured<'_>, object: &mut ModelObject) -> Result<()> {
    for _ in 0..u.int_in_range(1..=2)? {
        if u.ratio(1, 3)? {
            of_object(u, object)?;
        } else if let Some(last) = object.parts.len().checked_sub(1) {
            let at = u.int_in_range(0..=last)?;
            of_part(u, &mut object.parts[at])?;
        }
    }
    Ok(())
}

fn of_object(u: &mut Unstructured<'_>, object: &mut ModelObject) -> Result<()> {
    match u.int_in_range(0..=9)? {
        0 => object.shape.push(u.int_in_range(0..=2)?),
        1 => drop(object.shape.pop()),
        2 => {
            let dimension = *u.choose(&[0, 1, 5, 1 << 32, 1 << 62, u64::MAX])?;
            object.shape.iter_mut().take(1).for_each(|first| *first = dimension);
        }
        3 => object.shape = vec![1; u.int_in_range(63..=66)?],
        4 => drop(object.parts.pop()),
        5 => object.parts.extend_from_within(..object.parts.len().min(1)),
        6 => object.parts.reverse(),
        7 => {
            let formats = ["dense", "sparse_csr", "sparse_coo", "quantized_group", "mine"];
            (*u.choose(&formats)?).clone_into(&mut object.format);
        }
        8 => object.attributes = Some(raw(u)?),
        // Attributes of 59 to 63 nested levels: a map, and arrays in it. The manifest has further levels around the map, and the
        // limit `depth` is 64 levels by default.
        _ => {
            let levels = u.int_in_range(58..=62)?;
            object.attributes = Some([&b"\xa1\x61a"[..], &vec![0x81; levels], &[0]].concat());
        }
    }
    Ok(())
}

fn of_part(u: &mut Unstructured<'_>, part: &mut ModelComponent) -> Result<()> {
    match u.int_in_range(0..=11)? {
        0 => part.elements = part.elements.saturating_add(1),
        1 => part.elements = part.elements.saturating_sub(1),
        2 => part.elements = *u.choose(&[1 << 32, 1 << 60, 1 << 61, u64::MAX])?,
        3 => part.element = element(u)?,
        4 => (*u.choose(&ROLES)?).clone_into(&mut part.role),
        5 => part.named = Some((*u.choose(&ROLES)?).to_owned()),
        6 => drop(part.content.pop()),
        7 => part.content.push(u.arbitrary()?),
        8 => {
            let at = u.int_in_range(0..=part.content.len().max(1) - 1)?;
            let byte = u.arbitrary()?;
            part.content.iter_mut().skip(at).take(1).for_each(|there| *there = byte);
        }
        9 => part.level = Some(u.int_in_range(1..=5)?),
        10 => part.element = Element::Unknown("f4".to_owned()),
        // The name of a type that zten knows, and a storage type that is chosen independently, so that it often does not
        // belong to this name.
        _ => {
            let name = *u.choose(&["f32", "u8", "complex64", "f8_e5m2", "f8_e4m3", "bool"])?;
            let storage = *u.choose(&[StorageType::U8, StorageType::F32, StorageType::Bool])?;
            part.element = Element::Named(name.to_owned(), storage);
        }
    }
    Ok(())
}
