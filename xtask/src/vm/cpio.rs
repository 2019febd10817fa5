//! Archives of the kind that a kernel unpacks at its start ("newc").

use std::collections::HashSet;

/// An archive that is being written.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    files: u32,
    paths: HashSet<String>,
}

/// Mode of a folder.
const FOLDER: u32 = 0o040_755;
/// Mode of a file that may be run.
const PROGRAM: u32 = 0o100_755;
/// Name of the last entry.
const END: &str = "TRAILER!!!";

impl Archive {
    /// Adds a folder, and before it those that it lies in.
    pub fn folder(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        if !self.contains(path) {
            self.entry(path, FOLDER, &[]);
        }
    }

    /// Adds a file that may be run, and before it the folders that it lies in.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
        self.entry(path, PROGRAM, contents);
    }

    /// True if there is an entry of that path.
    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.files += 1;
        self.paths.insert(path.to_owned());
        // The name's length counts the zero after it.
        let (size, name) = (contents.len() as u32, path.len() as u32 + 1);
        // Number, mode, user, group, links, time, size, device and its parts, name, checksum.
        let fields = [self.files, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The archive's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_end_with_the_trailer() {
        let mut archive = Archive::default();
        archive.file("bin/sh", b"hello");
        archive.folder("bin");
        assert!(archive.contains("bin") && archive.contains("bin/sh"));
        let bytes = archive.finish();
        // 6 + 13 * 8 bytes of header and the name: 114 and 117, aligned 116 and 120.
        let second = &bytes[116..];
        assert!(bytes.starts_with(b"070701"));
        assert_eq!(&bytes[14..22], b"000041ed");
        assert!(second.starts_with(b"070701"));
        assert_eq!(&second[54..62], b"00000005", "the size");
        assert_eq!(&second[110..117], b"bin/sh\0");
        assert_eq!(&second[120..128], b"hello\0\0\0");
        let end = &second[128..];
        assert_eq!(&end[110..121], b"TRAILER!!!\0");
        assert_eq!(bytes.len() % 4, 0);
    }
}
