//! Reading what a solve gives.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tonic::Status;

use super::daemon::{Call, Daemon};
use super::solved;

#[tokio::test]
async fn files_of_any_size_are_read_in_pieces() {
    const MIB: usize = 1 << 20;
    let bytes = |length: usize| {
        (0..length)
            .map(|at| u8::try_from(at * 31 % 251).unwrap())
            .collect::<Vec<u8>>()
    };
    for (length, requests) in [(0, 1), (5, 1), (2 * MIB, 2), (8 * MIB + 1, 5)] {
        let daemon = Daemon::modern()
            .with_reference("r")
            .with_file("r", "uv.lock", bytes(length));
        let (client, reference) = solved(&daemon).await;
        let data = client.read_file(&reference, "uv.lock").await.unwrap().unwrap();
        assert!(data == bytes(length), "{length} bytes");
        let reads = daemon.calls().into_iter().filter_map(|call| match call {
            Call::ReadFile(request) => request.range,
            _ => None,
        });
        let lengths: Vec<i64> = reads.map(|range| range.length).collect();
        assert_eq!(lengths.len(), requests, "{length} bytes");
        assert!(lengths.iter().all(|length| *length <= 2 << 20));
    }
}

#[tokio::test]
async fn a_range_is_a_range() {
    let daemon = Daemon::modern()
        .with_reference("r")
        .with_file("r", "f", "0123456789");
    let (client, reference) = solved(&daemon).await;
    assert_eq!(
        client.read_range(&reference, "f", 2, 3).await.unwrap().unwrap(),
        b"234"
    );
    assert_eq!(
        client.read_range(&reference, "f", 8, 99).await.unwrap().unwrap(),
        b"89"
    );
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let daemon = Daemon::modern().with_reference("r").with_file("r", "dir/f", "x");
    let (client, reference) = solved(&daemon).await;
    assert_eq!(client.read_file(&reference, "uv.lock").await, Ok(None));
    assert_eq!(client.stat_file(&reference, "uv.lock").await, Ok(None));
    assert_eq!(client.read_dir(&reference, "other", "").await, Ok(None));
    let stat = client.stat_file(&reference, "dir/f").await.unwrap().unwrap();
    assert_eq!((stat.path.as_str(), stat.size, stat.mode), ("dir/f", 1, 0o644));
    let entries = client.read_dir(&reference, "dir", "f*").await.unwrap().unwrap();
    assert_eq!(
        entries
            .iter()
            .map(|entry| entry.path.as_str())
            .collect::<Vec<&str>>(),
        ["f"]
    );
    let asked = daemon.calls().into_iter().find_map(|call| match call {
        Call::ReadDir(request) if request.dir_path == "dir" => Some(request.include_pattern),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some("f*"));
}

#[tokio::test]
async fn a_failed_step_is_no_missing_file_whatever_it_says() {
    for caps in [
        vec!["solve.base", "readfile", "gateway.evaluate"],
        vec!["solve.base", "readfile", "statfile"],
    ] {
        let mut daemon = Daemon::able(&caps).with_reference("r");
        let message = "process \"/x\" did not start: no such file or directory";
        daemon.broken.insert("r".into(), Status::unknown(message));
        let (client, reference) = solved(&daemon).await;
        let error = client.read_file(&reference, "uv.lock").await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn requests_run_at_the_same_time() {
    const READS: usize = 32;
    let mut daemon = Daemon::modern().with_reference("r");
    // Nothing is answered before all have been asked.
    daemon.gate = Some(Arc::new(Barrier::new(READS)));
    for read in 0..READS {
        daemon = daemon.with_file("r", &format!("f{read}"), format!("{read}"));
    }
    let (client, reference) = solved(&daemon).await;
    let reads: Vec<_> = (0..READS)
        .map(|read| {
            let (client, reference) = (client.clone(), reference.clone());
            tokio::spawn(async move { client.read_file(&reference, &format!("f{read}")).await })
        })
        .collect();
    let all = async {
        for (read, task) in reads.into_iter().enumerate() {
            let data = task.await.unwrap().unwrap().unwrap();
            assert_eq!(data, read.to_string().into_bytes());
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("no request waits for another");
}
