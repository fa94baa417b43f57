//! Tests that run the filters on every system call number, as the kernel would.

use seccompiler::sock_filter;

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
/// `EACCES`.
const REJECT: u32 = 0x0005_000d;

#[cfg(target_arch = "x86_64")]
const AUDIT: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const AUDIT: u32 = 0xc000_00f3;

/// Runs the filter `program` on the system call with this `number` and these `arguments` of a process for the architecture
/// `machine`, and returns the decision of the filter. Filters are programs of classic BPF, and this interpreter knows the
/// instructions that occur in them.
fn run(program: &[sock_filter], machine: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = vec![number, machine, 0, 0];
    data.extend(arguments.iter().flat_map(|argument| {
        [u32::try_from(argument & 0xffff_ffff).unwrap(), u32::try_from(argument >> 32).unwrap()]
    }));
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let sock_filter { code, jt, jf, k } = &program[at];
        at += 1;
        let branch = |taken: bool| usize::from(if taken { *jt } else { *jf });
        match code {
            0x20 => accumulator = data[usize::try_from(*k).unwrap() / 4],
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(*k).unwrap(),
            0x15 => at += branch(accumulator == *k),
            0x25 => at += branch(accumulator > *k),
            0x35 => at += branch(accumulator >= *k),
            0x06 => return *k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// Returns the stricter one of the decisions of both filters, as the kernel does.
fn verdict(machine: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let verdicts = filters().unwrap().map(|filter| run(&filter, machine, number, arguments));
    match verdicts {
        [_, KILL] | [KILL, _] => KILL,
        [ALLOW, other] | [other, ALLOW] => other,
        other => panic!("neither allowed nor denied: {other:x?}"),
    }
}

fn allowed(number: i64, arguments: [u64; 6]) -> bool {
    verdict(AUDIT, u32::try_from(number).unwrap(), arguments) == ALLOW
}

#[test]
fn calls_outside_the_table_kill() {
    let [first, second] = filters().unwrap();
    let table: Vec<i64> = calls().map(|call| call.number).collect();
    // On x86-64, numbers from 0x40000000 are calls of the x32 ABI, which the same kernel serves.
    for number in (0..2048).chain(0x4000_0000..0x4000_0800) {
        let ones = [u64::MAX; 6];
        let rejected = run(&first, AUDIT, number, ones) == REJECT;
        assert_eq!(rejected, i64::from(number) == libc::SYS_openat, "call {number}");
        let free = [[0; 6], ones].map(|all| run(&second, AUDIT, number, all) == ALLOW);
        if free != [false; 2] && !rejected {
            assert!(table.contains(&number.into()), "call {number}");
        }
    }
}

#[test]
fn calls_of_another_architecture_kill() {
    let read = u32::try_from(libc::SYS_read).unwrap();
    assert_eq!(verdict(AUDIT, read, [0; 6]), ALLOW);
    assert_eq!(verdict(AUDIT ^ 1, read, [0; 6]), KILL);
}

#[test]
fn calls_with_other_arguments_are_denied() {
    let (anonymous, code) = (flag(libc::MAP_ANONYMOUS), flag(libc::PROT_EXEC));
    assert!(allowed(libc::SYS_mmap, [0, 4096, 3, anonymous | 2, u64::MAX, 0]));
    assert!(!allowed(libc::SYS_mmap, [0, 4096, 3 | code, anonymous | 2, u64::MAX, 0]), "code");
    assert!(!allowed(libc::SYS_mmap, [0, 4096, 3, 2, 3, 0]), "a file");
    assert!(allowed(libc::SYS_mprotect, [0, 4096, 3, 0, 0, 0]));
    assert!(!allowed(libc::SYS_mprotect, [0, 4096, code, 0, 0, 0]));
    let own = u64::from(std::process::id());
    assert!(allowed(libc::SYS_tgkill, [own, 1, 6, 0, 0, 0]));
    assert!(!allowed(libc::SYS_tgkill, [own + 1, 1, 6, 0, 0, 0]));
    assert!(
        allowed(libc::SYS_read, [0, 0, 1, 0, 0, 0]) && allowed(libc::SYS_read, [3, 0, 1, 0, 0, 0])
    );
    assert!(!allowed(libc::SYS_read, [1, 0, 1, 0, 0, 0]), "a terminal");
    assert!(!allowed(libc::SYS_read, [2 | 1 << 32, 0, 1, 0, 0, 0]), "a terminal");
    for advice in 0..128 {
        let is_listed = [libc::MADV_DONTNEED, libc::MADV_HUGEPAGE].map(flag).contains(&advice);
        assert_eq!(allowed(libc::SYS_madvise, [0, 4096, advice, 0, 0, 0]), is_listed, "{advice}");
    }
    assert!(allowed(libc::SYS_fcntl, [3, 1, 0, 0, 0, 0]));
    assert!(!allowed(libc::SYS_fcntl, [3, 1030, 0, 0, 0, 0]), "a second descriptor");
    assert!(!allowed(libc::SYS_fcntl, [3, 1033, 0, 0, 0, 0]), "seals");
    assert!(!allowed(libc::SYS_sendmsg, [1, 0, 0, 0, 0, 0]));
    assert!(allowed(libc::SYS_recvmsg, [0, 0, 0, 0, 0, 0]));
    assert!(!allowed(libc::SYS_recvmsg, [2, 0, 0, 0, 0, 0]), "another socket");
    assert!(!allowed(libc::SYS_sendmsg, [0, 0, 0, 0, 0, 0]), "handing files on");
    assert!(!allowed(libc::SYS_ftruncate, [3, 0, 0, 0, 0, 0]));
}

#[test]
fn dangerous_calls_are_denied() {
    let forbidden = [
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_open_by_handle_at,
        libc::SYS_statx,
        libc::SYS_newfstatat,
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_recvmsg,
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_writev,
        libc::SYS_kill,
        libc::SYS_pidfd_getfd,
        libc::SYS_memfd_create,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_prctl,
        libc::SYS_prlimit64,
        libc::SYS_ioctl,
        libc::SYS_mount,
        libc::SYS_setns,
        libc::SYS_unshare,
    ];
    for number in forbidden {
        assert!(!allowed(number, [1; 6]), "call {number}");
    }
}

#[test]
fn the_document_has_the_same_table() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md");
    let document = std::fs::read_to_string(document).unwrap();
    let table = document.split("<!-- calls -->\n").nth(1).unwrap();
    let mut wanted = String::from("| call | arguments | why |\n| --- | --- | --- |\n");
    for call in CALLS {
        let row = format!("| `{}` | {} | {} |\n", call.name(), call.with(), call.why());
        wanted.push_str(&row);
    }
    assert_eq!(table, wanted, "the table should be:\n{wanted}");
}
