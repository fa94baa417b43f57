//! Reading the content of objects.

use std::hint::black_box;
use std::io::Read as _;

use crate::contestant::serve;
use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};
use zten::{Archive, Component, Loader};

/// Returns the sum of elements, computed in eight partial sums.
fn total(elements: &[f32]) -> f32 {
    let (eights, rest) = elements.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for eight in eights {
        for (sum, element) in sums.iter_mut().zip(eight) {
            *sum += element;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// Sums a dense tensor of `f32`.
pub(crate) fn sum(reader: &str, file: &[u8]) -> Result<()> {
    let archive = Archive::from_bytes(file)?;
    let data = archive.tensors().next().context("no tensor")?.dense()?;
    let view = data.view()?;
    match reader {
        // The view is created in each round, because this is a part of reading.
        "zten" => serve(|| {
            let view = black_box(&data).view().expect("a valid file");
            total(view.as_slice().expect("aligned elements"))
        }),
        "zten, element by element" => {
            serve(|| view.elements::<f32>().expect("elements").sum::<f32>());
        }
        "a slice, element by element" => {
            let elements = view.to_vec::<f32>()?;
            serve(|| black_box(&elements).iter().sum::<f32>());
        }
        "a slice" => {
            let elements = view.to_vec::<f32>()?;
            serve(|| total(black_box(&elements)));
        }
        _ => bail!("{reader} sums nothing"),
    }
    Ok(())
}

/// Multiplies a sparse matrix by a vector of ones.
pub(crate) fn csr(reader: &str, file: &[u8]) -> Result<()> {
    let archive = Archive::from_bytes(file)?;
    let csr = archive.tensors().next().context("no tensor")?.csr()?;
    match reader {
        "zten" => {
            let vector = vec![1.0_f32; usize::try_from(csr.columns())?];
            serve(|| {
                let rows = csr.by_row::<f32>().expect("values");
                let product = |row: zten::view::Row<'_, f32>| {
                    row.map(|(column, value)| value * vector[column as usize]).sum::<f32>()
                };
                rows.map(product).sum::<f32>()
            });
        }
        "plain slices" => {
            let vector = vec![1.0_f32; usize::try_from(csr.columns())?];
            let (indptr, indices): (Vec<u64>, Vec<u64>) =
                (csr.indptr().widened().collect(), csr.indices().widened().collect());
            let values = csr.values().to_vec::<f32>()?;
            serve(|| {
                let rows = indptr.windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
                let product = |row: std::ops::Range<usize>| {
                    let entries = indices[row.clone()].iter().zip(&values[row]);
                    entries.map(|(column, value)| value * vector[*column as usize]).sum::<f32>()
                };
                rows.map(product).sum::<f32>()
            });
        }
        _ => bail!("{reader} multiplies nothing"),
    }
    Ok(())
}

/// Reads one component to its end, from the file or from its stored bytes.
pub(crate) fn read(reader: &str, file: &[u8]) -> Result<()> {
    let archive = Archive::from_bytes(file)?;
    let tensor = archive.tensors().next().context("no tensor")?;
    let component = tensor.components().next().context("no component")?;
    let extent = component.extent();
    let (start, length) = (usize::try_from(extent.offset())?, usize::try_from(extent.length())?);
    let stored = file.get(start..).and_then(|rest| rest.get(..length)).context("no blob")?;
    let mut buffer = vec![0; 64 << 10];
    match reader {
        "zten" => serve(|| {
            let mut reader = component.reader().expect("a readable one");
            while let Some(chunk) = reader.next_chunk().expect("valid content") {
                black_box(chunk);
            }
        }),
        "ruzstd" => serve(|| {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(stored).expect("a frame");
            while decoder.read(&mut buffer).expect("a valid frame") > 0 {
                black_box(&buffer);
            }
        }),
        "libzstd" => serve(|| {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stored).expect("a decoder");
            while decoder.read(&mut buffer).expect("a valid frame") > 0 {
                black_box(&buffer);
            }
        }),
        "sha2" => serve(|| Sha256::digest(stored)),
        "crc" => {
            let crc = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISCSI);
            serve(|| crc.checksum(stored));
        }
        _ => bail!("{reader} reads nothing"),
    }
    Ok(())
}

/// Reads all components of a file into memory, on one thread or on two.
pub(crate) fn frames(reader: &str, one: &[u8], halves: &[u8]) -> Result<()> {
    let (file, threads) = match reader {
        "one thread" => (one, 1),
        "two threads" => (one, 2),
        "two threads, two components" => (halves, 2),
        _ => bail!("{reader} reads nothing"),
    };
    let archive = Archive::from_bytes(file)?;
    let components: Vec<_> = archive.tensors().flat_map(|tensor| tensor.components()).collect();
    let length = |component: &Component<'_>| {
        let length = component.decoded_length().context("no length")?;
        Ok(vec![0; usize::try_from(length)?])
    };
    let mut buffers = components.iter().map(length).collect::<Result<Vec<_>>>()?;
    serve(|| {
        let loader = Loader::new(archive.manifest()).threads(threads);
        let targets = components.iter().copied().zip(buffers.iter_mut().map(Vec::as_mut_slice));
        loader.read_into(&mut targets.collect::<Vec<_>>()).expect("valid content");
        black_box(&buffers);
    });
    Ok(())
}
