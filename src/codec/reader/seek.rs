//! Content of which only some is wanted: what lies between is not read, where the encoding allows.

use core::ops::Range;

use super::super::hasher::Hasher;
use super::{Content, ReadAt, ReadError, Stored};

impl<R: ReadAt> Content<'_, R> {
    /// Whether some of it can be read without what comes before; its digest is then not computed.
    pub(crate) fn seeks(&mut self) -> bool {
        let seeks = match &self.reading.stored {
            Stored::Raw(_) => true,
            #[cfg(feature = "zstd")]
            Stored::Zstd(_) => false,
            #[cfg(feature = "zstd")]
            Stored::Seekable(_) => true,
        };
        if seeks {
            self.reading.hasher = Some(Hasher::new(None));
        }
        seeks
    }

    /// Goes on with the decoded bytes `run`, which are elements further on, in chunks of `most`
    /// bytes, and none that begins in the run goes beyond what has to be decoded for it.
    #[cfg_attr(
        not(feature = "zstd"),
        expect(clippy::unnecessary_wraps, reason = "only what lies in frames is decoded for it")
    )]
    pub(crate) fn seek(
        &mut self,
        run: &Range<u64>,
        most: usize,
    ) -> Result<(), ReadError<R::Error>> {
        let reading = &mut self.reading;
        let distance = run.start.saturating_sub(reading.position);
        reading.chunk = most;
        match &mut reading.stored {
            Stored::Raw(_) => {}
            #[cfg(feature = "zstd")]
            Stored::Zstd(_) => return Ok(()),
            #[cfg(feature = "zstd")]
            Stored::Seekable(frames) => {
                let place = reading.component.place();
                super::extend(&mut self.buffer, most)?;
                frames
                    .skip(&self.source, distance, &mut self.buffer)
                    .map_err(|error| error.at(place))?;
                // The next frame is not begun for what is not wanted of it.
                let left = run.end.saturating_sub(run.start.max(reading.position));
                reading.chunk = usize::try_from(left).unwrap_or(most).min(most).max(1);
            }
        }
        reading.position = reading.position.saturating_add(distance);
        Ok(())
    }

    /// Validates what has been begun: the rest of a frame is decoded for its checksum.
    #[cfg_attr(
        not(feature = "zstd"),
        expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "only frames are begun")
    )]
    pub(crate) fn settle(&mut self, most: usize) -> Result<(), ReadError<R::Error>> {
        #[cfg(feature = "zstd")]
        if let Stored::Seekable(frames) = &mut self.reading.stored {
            let place = self.reading.component.place();
            super::extend(&mut self.buffer, most)?;
            frames.settle(&self.source, &mut self.buffer).map_err(|error| error.at(place))?;
        }
        let _ = most;
        Ok(())
    }
}
