//! Messages that go through, and bytes that are none.

use super::*;

async fn through(bytes: &[u8]) -> io::Result<Option<ToProducer>> {
    let mut bytes = bytes;
    read(&mut bytes).await
}

fn run<R>(future: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn messages_go_through_one_behind_the_other() {
    let messages = [
        ToProducer::Credit { partition: 3, rows: 1 << 40 },
        ToProducer::Connect {
            address: Address {
                mac: [2, 0, 0, 0, 0, 1],
                ip: Ipv4Addr::new(10, 0, 0, 1),
                qpns: vec![2, 3],
            },
            appended: true,
        },
        ToProducer::Close { partition: 0 },
    ];
    run(async {
        let mut bytes = Vec::new();
        for message in &messages {
            write(&mut bytes, message).await.unwrap();
        }
        let mut bytes = bytes.as_slice();
        for message in messages {
            assert_eq!(read(&mut bytes).await.unwrap(), Some(message));
        }
        assert_eq!(read::<ToProducer>(&mut bytes).await.unwrap(), None);
    });
}

#[test]
fn what_is_no_message_is_an_error_that_says_so() {
    let error = run(through(&[0xff; 8])).unwrap_err().to_string();
    assert_eq!(error, "a message of 4294967295 B: 16777216 are possible");
    let error = run(through(b"\x02\0\0\0{}")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    let error = run(through(b"\x09\0\0\0{}")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
}
