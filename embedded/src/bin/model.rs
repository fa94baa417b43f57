//! The image that runs the neural network in flash: the file is opened in place, its digests are verified, and its
//! weights are borrowed. A compressed layer is decoded in chunks. A safetensors file has no digests.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use cortex_m_rt::entry;
    use zten::{
        Component, DType, Encoding, Limits, OpenOptions, element::F8E4M3Fn, verify::Verified,
    };
    use zten_embedded::image::failure::Failure;
    use zten_embedded::image::network::classify;
    use zten_embedded::image::{MODEL, report, stream};

    #[entry]
    fn main() -> ! {
        report::run(|out| {
            let options = OpenOptions::default().limits(Limits::embedded());
            let archive = options.from_bytes(MODEL)?;
            let logits = classify(&archive, for_each)?;
            report::digits(out, &logits)
        })
    }

    /// Calls `take` with each element of a component in order. Raw elements in flash are verified first and then
    /// borrowed.
    fn for_each(component: &Component<'_>, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
        if component.encoding() != Encoding::Raw {
            return stream::for_each(component, take);
        }
        verify(component)?;
        // The elements are borrowed from flash as their Rust type, without a copy.
        if component.dtype() == DType::F8E4M3Fn {
            for element in component.view()?.as_slice::<F8E4M3Fn>()? {
                take(element.to_f32());
            }
        } else {
            for element in component.view()?.as_slice::<f32>()? {
                take(*element);
            }
        }
        Ok(())
    }

    /// Reads all of a component in flash, and verifies its digest.
    fn verify(component: &Component<'_>) -> Result<(), Failure> {
        let mut reader = component.reader()?;
        while reader.next_chunk()?.is_some() {}
        match reader.verified() {
            Some(Verified::Digest) => Ok(()),
            _ if cfg!(feature = "safetensors") => Ok(()),
            _ => Err(Failure::Unverified),
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
