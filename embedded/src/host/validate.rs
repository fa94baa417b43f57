//! Checks of the output of images against the results of NumPy and of the library on this machine.

use std::path::Path;

use zten::{Archive, Limits, OpenOptions};

use super::printed::Printed;
use super::{Result, network, path};

/// The largest difference between a logit of an image and that of NumPy, which adds in another order. The largest
/// logit is 19.
const TOLERANCE: f32 = 1e-4;

/// The number of files that the image `hostile` has.
const HOSTILE: usize = 5;

/// Checks that the digits have the classes that NumPy computed, and the logits within the tolerance.
pub fn digits(printed: &Printed) -> Result<()> {
    let expected = network::expected()?;
    if printed.digits.len() != expected.len() {
        return Err(format!(
            "the firmware printed the classes of {} digits, expected {}",
            printed.digits.len(),
            expected.len()
        )
        .into());
    }
    for (at, (here, numpy)) in printed.digits.iter().zip(&expected).enumerate() {
        let near = |pair: (&f32, &f32)| (pair.0 - pair.1).abs() <= TOLERANCE;
        let same = here.1.len() == numpy.1.len() && here.1.iter().zip(&numpy.1).all(near);
        if here.0 != numpy.0 || !same {
            return Err(
                format!("the firmware computed the class and logits {here:?} for digit {at}, but NumPy {numpy:?}").into()
            );
        }
    }
    Ok(())
}

/// Checks that the image lists the objects that the library finds in `file` on this machine.
pub fn objects(printed: &Printed, file: &Path) -> Result<()> {
    let file = std::fs::read(file)?;
    let archive = Archive::from_bytes(&file)?;
    let mut found = Vec::new();
    for tensor in &archive {
        let element = tensor.dense()?.type_name();
        found.push((tensor.name().to_owned(), element.to_owned()));
    }
    if found == printed.objects {
        return Ok(());
    }
    Err(format!("the firmware listed the tensors {:?}, expected {found:?}", printed.objects).into())
}

/// Checks that the image rejects every hostile file by the rule and at the byte by which the library rejects it on
/// this machine.
pub fn rejected(printed: &Printed) -> Result<()> {
    if printed.rejected.len() != HOSTILE {
        return Err(format!(
            "the firmware rejected {} of the {HOSTILE} invalid files, expected all",
            printed.rejected.len()
        )
        .into());
    }
    let options = OpenOptions::default().limits(Limits::embedded());
    for (name, rule, offset) in &printed.rejected {
        let file = std::fs::read(path("../corpus/reject").join(name))?;
        let Err(error) = options.from_bytes(&file) else {
            return Err(format!(
                "on this machine, zten accepts {name}, which the firmware rejects"
            )
            .into());
        };
        if (error.rule(), error.offset()) != (Some(rule.as_str()), Some(*offset)) {
            return Err(format!(
                "the firmware rejects {name} by the rule {rule} at byte {offset}, but on this machine zten says: {error}"
            )
            .into());
        }
    }
    Ok(())
}
