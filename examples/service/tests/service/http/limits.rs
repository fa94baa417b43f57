//! Tests of the limits that the HTTP server sets for its clients: for sizes, times, and numbers of files.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use zten_service::http::Quota;

use super::client::{Client, ask, chunked, head, post, sized_request};
use super::served::{PLENTY, Served, is_free_again, plenty, valid};

/// A short time limit, for tests in which the client stops sending.
const SOON: Duration = Duration::from_millis(200);

#[test]
fn a_file_is_as_long_as_it_may_be_and_no_longer() {
    let file = valid();
    let size = u64::try_from(file.len()).unwrap();
    let served = Served::honest(Quota { size, ..plenty() });
    for form in [sized_request, chunked] {
        let answer = ask(served.address, &form(&file));
        assert_eq!((answer.status, answer.text("verdict")), (200, "valid"));
        let answer = ask(served.address, &form(&[file.as_slice(), b"x"].concat()));
        assert_eq!((answer.status, answer.text("verdict")), (413, "error"));
        assert_eq!(answer.text("message"), format!("the file has more than {size} bytes"));
    }
}

/// Checks that a client receives its answer although the server did not read everything that was sent.
#[test]
fn a_client_that_sends_too_much_gets_an_answer() {
    let served = Served::honest(Quota { size: 1000, ..plenty() });
    let file = vec![0; 8 << 20];
    for request in [sized_request(&file), chunked(&file)] {
        assert_eq!(ask(served.address, &request).status, 413);
    }
}

/// Checks that the server rejects a length that is too large before any byte of the body is sent.
#[test]
fn a_length_that_is_too_large_is_enough() {
    let served = Served::honest(Quota { size: 1000, ..plenty() });
    let mut client = Client::new(served.address).unwrap();
    let fields = "content-length: 4611686018427387904\r\nexpect: 100-continue\r\n";
    client.send(head(fields).as_bytes()).unwrap();
    assert_eq!(client.answer().status, 413);
}

#[test]
fn a_client_that_is_slow_is_cut_off() {
    let served = Served::honest(Quota { head: SOON, ..plenty() });
    for silent in ["", "POST /check HTTP/1.1\r\nhost: te"] {
        let mut client = Client::new(served.address).unwrap();
        client.send(silent.as_bytes()).unwrap();
        assert!(client.rest().is_empty());
    }

    let served = Served::honest(Quota { body: SOON, files: 1, ..plenty() });
    let mut client = Client::new(served.address).unwrap();
    let request = sized_request(&valid());
    client.send(&request[..request.len() - 1]).unwrap();
    let answer = client.answer();
    assert_eq!((answer.status, answer.text("verdict")), (408, "error"));
}

#[test]
fn a_client_that_leaves_gives_its_place_back() {
    let body = Duration::from_secs(3600);
    let served = Served::honest(Quota { body, files: 1, ..plenty() });
    let mut client = Client::new(served.address).unwrap();
    client.offer(1000);
    client.send(b"x").unwrap();
    drop(client);
    assert!(is_free_again(&served));
}

/// Checks that sending single bytes does not extend the time limit.
#[test]
fn a_client_that_drips_is_cut_off() {
    let served = Served::honest(Quota { body: SOON, ..plenty() });
    let mut client = Client::new(served.address).unwrap();
    client.offer(usize::MAX >> 40);
    // The client sends until the server closes the connection at its time limit.
    let failed = loop {
        if let Err(error) = client.send(b"x") {
            break error.kind();
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(matches!(failed, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{failed}");
}

#[test]
fn no_more_files_are_taken_than_may_be() {
    let served = Served::honest(Quota { files: 1, queue: 0, ..plenty() });
    let file = valid();
    let mut first = Client::new(served.address).unwrap();
    first.offer(file.len());
    for _ in 0..3 {
        let second = post(served.address, &file);
        assert!(second.status == 503 && second.has("retry-after: 1"), "{second:?}");
    }
    first.send(&file).unwrap();
    assert_eq!(first.answer().status, 200);
    assert_eq!(post(served.address, &file).status, 200);
}

/// Checks that all clients receive an answer when more of them send small files at the same time than the server checks at
/// once.
#[test]
fn small_files_wait_for_a_place() {
    let served = Served::honest(Quota { files: 4, wait: PLENTY, ..Quota::default() });
    let file = valid();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let answer = post(served.address, &file);
                    assert_eq!((answer.status, answer.text("verdict")), (200, "valid"));
                }
            });
        }
    });
}

/// Checks that the server asks for no body before it can receive the file, and that the number of waiting requests is limited. A
/// request that is too large does not wait, and waiting requests are served in their order.
#[test]
fn a_queue_is_limited() {
    let served = Served::honest(Quota { files: 1, queue: 2, ..plenty() });
    let file = valid();
    let [mut first, mut second, mut third] =
        std::array::from_fn(|_| Client::new(served.address).unwrap());
    first.offer(file.len());
    for waiting in [&mut second, &mut third] {
        waiting.announce(file.len());
        assert!(waiting.is_silent(SOON));
    }
    let other = post(served.address, &file);
    assert!(other.status == 503 && other.has("retry-after: 1"), "{other:?}");
    // A request that is too large is rejected at once, without a place in the queue.
    let mut large = Client::new(served.address).unwrap();
    large.announce(usize::MAX >> 1);
    assert_eq!(large.answer().status, 413);

    first.send(&file).unwrap();
    assert_eq!(first.answer().status, 200);
    // The waiting requests are served in order.
    second.is_wanted();
    assert!(third.is_silent(SOON));
    second.send(&file).unwrap();
    assert_eq!(second.answer().status, 200);
    third.is_wanted();
    third.send(&file).unwrap();
    assert_eq!(third.answer().status, 200);
}

#[test]
fn a_request_waits_so_long_and_no_longer() {
    let served = Served::honest(Quota { files: 1, wait: SOON, ..plenty() });
    let mut first = Client::new(served.address).unwrap();
    first.offer(1);
    let second = post(served.address, &valid());
    assert!(second.status == 503 && second.has("retry-after: 1"), "{second:?}");
    first.send(b"x").unwrap();
    assert_eq!(first.answer().status, 200);
}

/// Checks that connections beyond the limit wait and are then answered.
#[test]
fn connections_are_limited() {
    let served = Served::honest(Quota { connections: 1, ..plenty() });
    let file = valid();
    let mut first = Client::new(served.address).unwrap();
    first.offer(file.len());
    let mut second = Client::new(served.address).unwrap();
    second.send(&sized_request(&file)).unwrap();
    // The second request gets no answer while the first connection is open.
    assert!(second.is_silent(SOON));
    first.send(&file).unwrap();
    assert_eq!(first.answer().status, 200);
    assert_eq!(second.answer().status, 200);
}
