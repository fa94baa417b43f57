//! Elements as a slice of one type: borrowed where they lie, or decoded into memory of their own.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use super::Dense;
use super::buffer::grow;
use crate::codec::{ReadAt, ReadError};
use crate::element::{ByteOrder, Element};
use crate::error::{Error, ErrorKind, Misuse};
use crate::format::Encoding;
use crate::limits::Limits;
use crate::manifest::Component;

impl<'a> Component<'a> {
    /// All elements, in this machine's byte order: borrowed from the file where they lie raw,
    /// aligned and in that order; else decoded into memory of their own, within the limits that the
    /// file was opened with. For components of an [`Archive`](crate::Archive).
    ///
    /// What is decoded or copied has been verified by its digest on the way. What is borrowed has
    /// not been read: [`Archive::verify`](crate::Archive::verify) verifies all of a file.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; `bool-value` where a 1.x bool is
    /// neither 0 nor 1; [`Misuse::NoFile`] where the component comes from a manifest without its
    /// file; as [`read_elements`](Self::read_elements).
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        let file = self.file()?;
        if self.encoding() == Encoding::Raw {
            match self.bind(file)?.as_slice() {
                Ok(elements) => return Ok(Cow::Borrowed(elements)),
                Err(error) => match error.kind() {
                    // Each element can be read by itself.
                    ErrorKind::Misuse(
                        Misuse::Alignment | Misuse::ByteOrder | Misuse::BoolBytes,
                    ) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(Cow::Owned(self.read_elements(file, self.limits())?))
    }

    /// All elements, decoded and verified, in this machine's byte order, in memory of their own.
    /// Memory grows as bytes come and never by what is claimed.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; as
    /// [`content`](Self::content) and [`Content::next_chunk`](crate::source::Content::next_chunk);
    /// [`Misuse::Size`] where a 0.1 entry of unknown layout holds part of an element;
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn read_elements<T: Element, R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<Vec<T>, ReadError<R::Error>> {
        self.kind()?.is_of::<T>()?;
        let most = self.decoded_length().map(|bytes| bytes / NonZeroU64::from(T::DTYPE.divisor()));
        let most = most.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        let mut content = self.content(source, limits)?;
        let mut elements = Vec::new();
        while let Some(chunk) = content.next_chunk()? {
            let pieces = chunk.chunks_exact(size_of::<T>());
            if !pieces.remainder().is_empty() {
                return Err(Error::misuse(Misuse::Size).at(self.place()).into());
            }
            let needed = elements.len().saturating_add(pieces.len());
            grow(&mut elements, needed, most)
                .map_err(|error| Error::from(error).at(self.place()))?;
            for element in pieces.filter_map(|piece| T::read(piece, ByteOrder::Little)) {
                elements.push(element);
            }
        }
        Ok(elements)
    }
}

impl<'a> Dense<'a> {
    /// All elements in row-major order, `product(shape)` of them (of a complex type as its storage
    /// type, twice as many): as [`Component::to_cow`].
    ///
    /// ```
    /// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// let archive = zten::Archive::open(file)?;
    /// let weights = archive.require("t_f32")?.dense()?.to_cow::<f32>()?;
    /// assert_eq!(weights.len(), 2 * 3);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Component::to_cow`].
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        self.component().to_cow()
    }

    /// All elements in row-major order, in memory of their own: as [`Component::read_elements`].
    ///
    /// # Errors
    /// As [`Component::read_elements`].
    pub fn read_elements<T: Element, R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<Vec<T>, ReadError<R::Error>> {
        self.component().read_elements(source, limits)
    }
}
