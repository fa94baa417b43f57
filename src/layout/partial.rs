//! Reading a part of an array that is stored in any encoding, and no more of it than that needs.

use super::DecodedSlice;
use crate::codec::{ReadAt, ReadError, Verified};
use crate::error::{Error, Misuse};
use crate::limits::Limits;
use crate::num::{u64_from_usize, usize_from_u32};

impl DecodedSlice<'_> {
    /// Hands its bytes to `take`, in order: decoded and little-endian.
    ///
    /// Of raw components no more is read than a chunk around each run. Of those in frames
    /// (`zt.zstd-seekable/1`) the seek table is, and each frame that is needed: all of it, so that
    /// its checksum and its size are verified. zstd of 1.x is decoded from its beginning to its
    /// end.
    ///
    /// The digest is over all of a component. Where all is decoded, what has been shown of it is
    /// returned; none where parts were passed over, and it has not been verified.
    ///
    /// # Errors
    /// As [`Component::content`](crate::Component::content) and
    /// [`Content::next_chunk`](crate::source::Content::next_chunk); whatever `take` fails with.
    pub fn parts<R, E>(
        &self,
        source: R,
        limits: &Limits,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<Verified>, E>
    where
        R: ReadAt,
        E: From<ReadError<R::Error>>,
    {
        let mut content = self.component().content(source, limits)?;
        let (seeks, most) = (content.seeks(), usize_from_u32(limits.chunk()));
        let mut cut = self.cut();
        while let Some(run) = cut.run() {
            if seeks {
                content.seek(&run, most)?;
                cut.skip_to(run.start);
            }
            let Some(chunk) = content.next_chunk()? else { break };
            cut.parts(chunk).try_for_each(&mut take)?;
        }
        if seeks {
            content.settle(most)?;
            return Ok(None);
        }
        while content.next_chunk()?.is_some() {}
        Ok(content.verified())
    }

    /// Fills `buffer` with its bytes, as [`parts`](Self::parts) hands them on. When it fails,
    /// `buffer` holds whatever had been read by then.
    ///
    /// ```
    /// # #[cfg(feature = "zstd")] {
    /// # let file = std::fs::read("corpus/v2/accept/frames.zt").unwrap();
    /// let archive = zten::Archive::open(&file)?;
    /// let dense = archive.get("w").unwrap().dense()?;
    /// let slice = dense.decoded_slice(&[1..3])?;
    /// let mut bytes = [0; 2];
    /// let verified = slice.read(archive.data(), &zten::Limits::default(), &mut bytes)?;
    /// assert_eq!(verified, None);
    /// # }
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`parts`](Self::parts); [`Misuse::Buffer`] where `buffer` is not
    /// [`byte_len`](Self::byte_len) long.
    pub fn read<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
        buffer: &mut [u8],
    ) -> Result<Option<Verified>, ReadError<R::Error>> {
        let misuse = Error::misuse(Misuse::Buffer).at(self.component().place());
        if u64_from_usize(buffer.len()) != self.byte_len() {
            return Err(misuse.into());
        }
        let mut rest = buffer;
        self.parts(source, limits, |part| {
            let room = core::mem::take(&mut rest).split_at_mut_checked(part.len());
            let (room, behind) = room.ok_or(misuse)?;
            room.copy_from_slice(part);
            rest = behind;
            Ok(())
        })
    }
}
