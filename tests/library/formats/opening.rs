//! Tests that files opened without I/O have the same verdicts as files that are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fastrand::Rng;
use zten::open;
use zten::open::{Opening, Step, Wanted};
use zten::rules::Limit;
use zten::{Archive, Component, Error, InMemory, OpenOptions};
use zten_corpus::other::npy;
use zten_corpus::other::zip::{self, Member};
use zten_testkit::{corpus, other_formats, safetensors};

/// How many steps opening a file without I/O took, and how many bytes it requested.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    steps: usize,
    bytes: usize,
}

/// An archive whose header was read, and whose data cannot be read.
type Header = Archive<InMemory<[u8; 0]>>;

/// Opens `file`, the bytes of the file at `path`, without I/O, and checks that no byte is requested twice. Sibling files are
/// those of its folder.
fn open_in_steps(path: &Path, file: &[u8], options: &OpenOptions) -> (Cost, Result<Header, Error>) {
    let mut files: BTreeMap<Option<String>, Vec<u8>> = BTreeMap::from([(None, file.to_vec())]);
    let mut opening = Opening::new(path, u64::try_from(file.len()).unwrap(), options);
    let mut cost = Cost::default();
    let mut given: Vec<Wanted> = Vec::new();
    loop {
        cost.steps += 1;
        assert!(cost.steps < 60, "{}", path.display());
        match opening.step() {
            Ok(Step::Read(wanted)) => {
                for wanted in wanted {
                    let range = &wanted.range;
                    let twice = given.iter().find(|given| {
                        given.file == wanted.file
                            && given.range.start < range.end
                            && range.start < given.range.end
                    });
                    assert_eq!(twice, None, "{}: {wanted:?}", path.display());
                    let place = |at: u64| usize::try_from(at).unwrap();
                    let bytes = &files[&wanted.file][place(range.start)..place(range.end)];
                    assert!(!bytes.is_empty());
                    cost.bytes += bytes.len();
                    opening.supply(&wanted, bytes.to_vec()).unwrap();
                    given.push(wanted);
                }
            }
            Ok(Step::Open(names)) => {
                for name in names {
                    let bytes = fs::read(path.with_file_name(&name)).ok();
                    opening.opened(
                        name.clone(),
                        bytes.as_ref().map(|it| it.len().try_into().unwrap()),
                    );
                    files.extend(bytes.map(|bytes| (Some(name), bytes)));
                }
            }
            Ok(Step::Done(header)) => return (cost, Ok(*header)),
            Err(error) => return (cost, Err(error)),
        }
    }
}

#[test]
fn opening_in_steps_gives_the_same_verdict() {
    let ztensor = corpus().join("accept/1.2.3/dense_all.zt");
    let files = [other_formats("accept"), other_formats("reject"), vec![ztensor]].concat();
    assert!(files.len() > 150, "{}", files.len());
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let (cost, stepped) = open_in_steps(&path, &bytes, &OpenOptions::default());
        match (open(&path), stepped) {
            (Ok(archive), Ok(header)) => {
                assert_eq!(archive.len(), header.len());
                assert_eq!(archive.format(), header.format());
                for (tensor, again) in archive.tensors().zip(header.tensors()) {
                    assert_eq!(tensor.name(), again.name());
                    let place = |component: Component<'_>| {
                        (component.extent(), component.shard().map(str::to_owned))
                    };
                    assert!(tensor.components().map(place).eq(again.components().map(place)));
                }
            }
            (Err(read), Err(stepped)) => {
                assert_eq!(read.to_string(), stepped.to_string());
            }
            (read, stepped) => panic!("{}: {read:?} {stepped:?}", path.display()),
        }
        assert!(cost.steps < 20, "{}: {cost:?}", path.display());
    }
}

/// Returns a zip archive of `count` members that are far from each other.
fn many_members(count: usize, deflated: bool) -> Vec<u8> {
    let mut random = Rng::with_seed(1);
    let data: Vec<u8> = (0..20_000).map(|_| random.u8(..)).collect();
    let array = npy::file("|u1", false, "(20000,)", &data);
    let member = if deflated { Member::deflated } else { Member::stored };
    let members = (0..count).map(|number| member(&format!("{number}.npy"), &array));
    zip::Archive::new(&members.collect::<Vec<_>>()).bytes()
}

#[test]
fn steps_do_not_grow_with_members() {
    for deflated in [false, true] {
        for count in [2, 20, 200] {
            let bytes = many_members(count, deflated);
            let (cost, opened) = open_in_steps(Path::new("x.npz"), &bytes, &OpenOptions::default());
            assert_eq!(opened.unwrap().len(), count);
            assert!(cost.steps <= 6, "{count} members: {cost:?}");
            assert!(cost.bytes <= 32 * 1024 * (count + 1), "{count} members: {cost:?}");
        }
    }
}

#[test]
fn a_long_header_takes_few_steps() {
    let count = 40_000;
    let tensors = (0..count).map(|at| (format!("tensor{at:06}"), "U8", [1], 1));
    let bytes = safetensors::file(tensors, &vec![0; count]);
    let (cost, opened) = open_in_steps(Path::new("x"), &bytes, &OpenOptions::default());
    assert_eq!(opened.unwrap().len(), count);
    assert!(cost.steps <= 8, "{cost:?}");
}

#[test]
fn memory_of_opening_in_steps_is_limited() {
    // The header of the first of 300 members is damaged. The member must be read whole to find out whether its checksum
    // is wrong, too.
    let mut bytes = many_members(300, false);
    let at = bytes.windows(5).position(|window| window == b"descr").unwrap();
    bytes[at] = b'D';
    let limits = *OpenOptions::default().limit();
    let (_, opened) = open_in_steps(Path::new("x.npz"), &bytes, &OpenOptions::default());
    assert_eq!(opened.unwrap_err().rule(), Some("zip-crc"));
    let options = OpenOptions::default().limits(limits.with_manifest(64 << 10));
    let (cost, opened) = open_in_steps(Path::new("x.npz"), &bytes, &options);
    assert!(cost.bytes <= (64 << 10) + (1 << 20) + 8192, "{cost:?}");
    assert_eq!(opened.unwrap_err().row(), Some(Limit::Manifest.row()));
}

#[test]
fn bytes_that_were_not_asked_for_are_rejected() {
    let mut opening = Opening::new("x", 100, &OpenOptions::default());
    let Step::Read(wanted) = opening.step().unwrap() else { panic!("nothing is to be read") };
    assert_eq!(wanted, [Wanted { file: None, range: 0..100 }]);
    assert!(opening.supply(&wanted[0], vec![0; 99]).is_err());
    let other = Wanted { file: Some("y".to_owned()), range: 0..1 };
    assert!(opening.supply(&other, vec![0]).is_err());
    assert!(opening.supply(&wanted[0], vec![0; 100]).is_ok());
    assert!(opening.step().unwrap_err().is_rejection());
}
