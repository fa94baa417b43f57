//! Dense arrays as views of `ndarray`.

use alloc::vec::Vec;

use ndarray::{ArrayViewD, IxDyn};

use super::{Dense, View};
use crate::element::Element;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::num::usize_from_u32;

impl<'a> Dense<'a> {
    /// The array where it lies in the file, in the shape of the object and row-major order: nothing is
    /// copied. For objects of an [`Archive`](crate::Archive), which holds that file.
    ///
    /// ```
    /// # let bytes = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// # // In memory a file begins anywhere: one that is mapped is aligned.
    /// # let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    /// # let file = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    /// # file.copy_from_slice(&bytes);
    /// # let file = &*file;
    /// let archive = zten::Archive::open(file)?;
    /// let array = archive.get("t_f32").unwrap().dense()?.array::<f32>()?; // 2 × 3
    /// assert_eq!(array.shape(), [2, 3]);
    /// assert_eq!(array[[1, 1]], 0.75);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`view`](Self::view) and [`View::as_slice`]: bytes that are compressed, not aligned, or (0.1)
    /// in the other byte order are not borrowed. [`Misuse::Type`], too, where there is not one `T` for each place of the array, as
    /// of `f4_e2m1` or the `f32` of a complex type; [`Misuse::Size`] where `ndarray` cannot address
    /// the shape: the product of its dimensions that are not 0 has to be below 2^63 (2^31 on 32 bits).
    pub fn array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Error> {
        self.shaped(self.view()?)
    }

    /// The same, bound to the file it is in, all of whose bytes are in `file`.
    ///
    /// # Errors
    /// As [`bind`](Self::bind) and [`array`](Self::array).
    pub fn bind_array<'d, T: Element>(&self, file: &'d [u8]) -> Result<ArrayViewD<'d, T>, Error> {
        self.shaped(self.bind(file)?)
    }

    fn shaped<'d, T: Element>(&self, view: View<'d>) -> Result<ArrayViewD<'d, T>, Error> {
        let place = self.component().place();
        let misuse = |misuse| Error::misuse(misuse).at(place);
        let elements = view.as_slice::<T>()?;
        let mut shape = Vec::new();
        shape
            .try_reserve_exact(usize_from_u32(self.shape().rank()))
            .map_err(|_| Error::from(OutOfMemory).at(place))?;
        for dimension in self.shape() {
            shape.push(usize::try_from(dimension).map_err(|_| misuse(Misuse::Size))?);
        }
        if self.shape().elements() != u64::try_from(elements.len()).ok() {
            return Err(misuse(Misuse::Type));
        }
        ArrayViewD::from_shape(IxDyn(&shape), elements).map_err(|_| misuse(Misuse::Size))
    }
}
