//! `zten hash`: what the components of a file hold, whatever the byte order or encoding.

use std::io::{self, Write as _};

use sha2::{Digest as _, Sha256};
use zten::rules::Unsupported;
use zten::source::FileArchive;
use zten::{ErrorKind, Object, ReadError, Verifier};

use crate::app::App;
use crate::args::Hash;
use crate::escape;
use crate::file::{open, stored};
use crate::json::Json;
use crate::objects::Work;
use crate::progress::Watched;
use crate::report::Problem;

/// The sum of one component.
#[derive(Clone, Copy)]
struct Sum {
    /// Decoded bytes, where that is known.
    bytes: Option<u64>,
    /// None where they cannot be read.
    sha256: Option<[u8; 32]>,
}

/// Hashes all components, and prints nothing before all have been verified.
pub(crate) fn run(app: &mut App, args: &Hash) -> io::Result<()> {
    let options = args.strictness.options();
    let archive = match open(&args.file, &options) {
        Ok(archive) => archive,
        Err(problem) => return app.problem(&problem),
    };
    let source = Watched::new(&archive, stored(&archive));
    let judge = |verifier: &mut Verifier, object: &Object<'_>| sum(verifier, object, &source);
    let work = Work { archive: &archive, limits: options.limit(), passes: is_foreign, judge };
    let results = work.run();
    // In the order of the manifest, objects and components.
    let mut sums: Vec<Vec<Sum>> = Vec::new();
    let mut unsupported: Option<Problem> = None;
    let mut more = 0_u64;
    for (result, object) in results.into_iter().zip(archive.objects()) {
        match result {
            Ok(sum) => sums.push(sum),
            Err(error) => {
                let problem = Problem::reading(&args.file, &archive, &error);
                if !is_foreign(&error) {
                    drop(source);
                    return app.problem(&problem);
                }
                let length = |component: zten::Component<'_>| component.decoded_length();
                let unread = |bytes| Sum { bytes, sha256: None };
                sums.push(object.components().map(length).map(unread).collect());
                match unsupported {
                    Some(_) => more = more.saturating_add(1),
                    None => unsupported = Some(problem),
                }
            }
        }
    }
    drop(source);
    let order = sorted(&archive);
    if args.json {
        document(app, &order, &sums)?;
    } else {
        lines(app, &order, &sums)?;
    }
    match unsupported {
        Some(mut problem) => {
            problem.and_more(more);
            app.problem(&problem)
        }
        None => Ok(()),
    }
}

/// Whether an entry of 0.1 uses what only its writer knows, which does not spoil the file.
fn is_foreign(error: &ReadError<io::Error>) -> bool {
    let ReadError::Refused(error) = error else {
        return false;
    };
    matches!(
        error.kind(),
        ErrorKind::Unsupported(Unsupported::Dtype | Unsupported::Encoding | Unsupported::Layout)
    )
}

/// The sums of an object's components, in the order of the manifest.
fn sum(
    verifier: &mut Verifier,
    object: &Object<'_>,
    source: &Watched<'_>,
) -> Result<Vec<Sum>, ReadError<io::Error>> {
    let mut hashers = vec![(0_u64, Sha256::new()); object.components().len()];
    verifier.object(object, source, |component, chunk| {
        let ordinal = component.place().component().and_then(|at| usize::try_from(at).ok());
        if let Some((bytes, hasher)) = ordinal.and_then(|ordinal| hashers.get_mut(ordinal)) {
            *bytes = bytes.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            hasher.update(chunk);
        }
    })?;
    let sum = |(bytes, hasher): (u64, Sha256)| Sum {
        bytes: Some(bytes),
        sha256: Some(hasher.finalize().into()),
    };
    Ok(hashers.into_iter().map(sum).collect())
}

/// The objects in order of their names, bytewise.
fn sorted(archive: &FileArchive) -> Vec<Object<'_>> {
    let mut objects: Vec<_> = archive.objects().collect();
    objects.sort_by_key(Object::name);
    objects
}

/// The components of an object in order of their roles, bytewise, each with its sum.
fn components<'a>(object: &Object<'a>, sums: &[Vec<Sum>]) -> Vec<(&'a str, Sum)> {
    let own = usize::try_from(object.ordinal()).ok().and_then(|ordinal| sums.get(ordinal));
    let own = own.map(Vec::as_slice).unwrap_or_default();
    let roles = object.components().map(|component| component.role());
    let mut components: Vec<_> = roles.zip(own.iter().copied()).collect();
    components.sort_by_key(|(role, _)| *role);
    components
}

fn hex(sum: [u8; 32]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// One line a component: sum, bytes, name and role.
fn lines(app: &mut App, order: &[Object<'_>], sums: &[Vec<Sum>]) -> io::Result<()> {
    for object in order {
        for (role, sum) in components(object, sums) {
            let unknown = || "-".to_owned();
            let hash = sum.sha256.map_or_else(unknown, hex);
            let bytes = sum.bytes.map_or_else(unknown, |bytes| bytes.to_string());
            let (name, role) = (escape::whole(object.name()), escape::whole(role));
            writeln!(app.out, "{hash}  {bytes}  {name}/{role}")?;
        }
    }
    Ok(())
}

/// One JSON document.
fn document(app: &mut App, order: &[Object<'_>], sums: &[Vec<Sum>]) -> io::Result<()> {
    let mut json = Json::new(&mut app.out);
    json.open('{')?;
    json.key("objects")?;
    json.open('[')?;
    for object in order {
        json.open('{')?;
        json.key("name")?;
        json.string(object.name())?;
        json.key("components")?;
        json.open('[')?;
        for (role, sum) in components(object, sums) {
            json.open('{')?;
            json.key("role")?;
            json.string(role)?;
            json.key("bytes")?;
            json.number_or_null(sum.bytes)?;
            json.key("sha256")?;
            json.string_or_null(sum.sha256.map(hex).as_deref())?;
            json.close('}')?;
        }
        json.close(']')?;
        json.close('}')?;
    }
    json.close(']')?;
    json.close('}')?;
    json.line()
}
