//! Which file the bytes of a component are read from.

use super::ReadAt;
use super::shard::{ComponentSource, Files};
use crate::error::Error;
use crate::manifest::Component;

/// Where components are read from: one file, or one and its shards.
pub(crate) trait Locate: Copy {
    /// What bytes come from.
    type Source: ReadAt;

    /// The component as it is read from the file that it is in, and that file.
    ///
    /// # Errors
    /// The reason why there is no such file.
    fn locate<'c>(self, component: &Component<'c>) -> Result<Located<'c, Self::Source>, Error>;
}

/// A component, and the file that it is read from.
pub(crate) struct Located<'c, S> {
    pub(crate) component: Component<'c>,
    pub(crate) source: S,
}

/// One file; what is elsewhere cannot be read.
pub(crate) struct Single<'s, R: ?Sized>(pub(crate) &'s R);

impl<R: ?Sized> Clone for Single<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: ?Sized> Copy for Single<'_, R> {}

impl<'s, R: ReadAt + ?Sized> Locate for Single<'s, R> {
    type Source = &'s R;

    fn locate<'c>(self, component: &Component<'c>) -> Result<Located<'c, &'s R>, Error> {
        Ok(Located { component: *component, source: self.0 })
    }
}

impl<'s, R, S> Locate for Files<'s, '_, R, S>
where
    R: ReadAt + ?Sized,
    S: ReadAt<Error = R::Error>,
{
    type Source = ComponentSource<'s, R, S>;

    fn locate<'c>(self, component: &Component<'c>) -> Result<Located<'c, Self::Source>, Error> {
        let (component, source) = Files::locate(self, component)?;
        Ok(Located { component, source })
    }
}
