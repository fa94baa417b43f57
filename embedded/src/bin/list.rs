//! The image that opens the file, lists its objects and borrows all elements, without the features for digests, zstd
//! and messages.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use core::hint::black_box;

    use cortex_m_rt::entry;
    use cortex_m_semihosting::hio::{self, HostStream};
    use zten::{Limits, OpenOptions, element::F8E4M3Fn};
    use zten_embedded::image::{MODEL, end, memory};

    #[entry]
    fn main() -> ! {
        memory::begin();
        let listed = hio::hstdout().and_then(|mut out| list(black_box(MODEL), &mut out));
        end(listed.is_ok())
    }

    /// Prints the name and the type of each object.
    fn list(file: &'static [u8], out: &mut HostStream) -> Result<(), ()> {
        let options = OpenOptions::default().limits(Limits::embedded());
        let archive = options.from_bytes(file).map_err(|_| ())?;
        for tensor in archive.manifest().tensors() {
            let data = tensor.dense().map_err(|_| ())?;
            let extent = data.extent().range();
            let [start, end] = [extent.start, extent.end].map(usize::try_from);
            let blob = file.get(start.map_err(|_| ())?..end.map_err(|_| ())?).ok_or(())?;
            let view = data.bind(blob).map_err(|_| ())?;
            black_box(view.as_slice::<f32>().map(<[f32]>::len).ok());
            black_box(view.as_slice::<F8E4M3Fn>().map(<[F8E4M3Fn]>::len).ok());
            black_box(tensor.element_count());
            for text in ["object ", tensor.name(), " ", data.type_name(), "\n"] {
                out.write_all(text.as_bytes())?;
            }
        }
        Ok(())
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
