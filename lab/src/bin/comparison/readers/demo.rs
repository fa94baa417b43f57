//! A reader that does what it is told, so that tests see each outcome.

use zten_lab::readers::subject::{Component, Report};

/// Produces the outcome that `what` names, such as a panic or a wrong content.
pub(super) fn read(what: &str, report: &mut Report) {
    match what {
        "rejects-opening" => drop(report.opened::<(), _>(Err("not this one"))),
        "panics-opening" => panic!("on\ndemand"),
        _ => drop(report.opened::<_, String>(Ok(()))),
    }
    match what {
        "rejects-reading" => drop(report.read::<(), _>(Err("not\nthis one"))),
        "panics" => panic!("on demand"),
        "aborts" => std::process::abort(),
        "exhausts" => drop(std::hint::black_box(vec![1_u8; 8 << 30])),
        "overflows" => drop(deeper(0)),
        "spins" => while std::hint::black_box(true) {},
        "exits" => std::process::exit(3),
        "lacks-memory" => {
            eprintln!("MemoryError");
            std::process::exit(crate::outcome::OUT_OF_MEMORY)
        }
        "invents" => {
            let packed = zstd::encode_all(&[7; 10][..], 1).unwrap_or_default();
            let length = packed.len() as u64;
            report.size(&packed, Component { offset: 0, length, packed: true }, 11);
        }
        "is-exact" => report.size(&[0; 20], Component { offset: 0, length: 10, packed: false }, 10),
        "reads-outside" => {
            report.size(&[0; 20], Component { offset: 0, length: 10, packed: false }, 11);
        }
        "overruns" => zten_lab::readers::subject::overrun(),
        "rejects-and-invents" => {
            report.read::<(), _>(Err("not this one"));
            report.size(&[0; 20], Component { offset: 0, length: 10, packed: false }, 11);
        }
        _ => {}
    }
    report.content("x", "data", &[1, 2, 3]);
}

#[expect(unconditional_recursion, reason = "it overflows the stack")]
fn deeper(level: u64) -> u64 {
    std::hint::black_box(deeper(std::hint::black_box(level + 1))) + 1
}
