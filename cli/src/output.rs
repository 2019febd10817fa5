//! Files that a command writes: whole, or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

/// A file that takes its name when it is finished. Until then a file that had the name stays as it
/// was, and no other file is left behind however the process ends. Several processes may write to one
/// name: each writes a file of its own, and the one that is finished last stays.
///
/// A name that is no regular file (a terminal, a pipe) is written at once.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file without a name, in the folder.
    Unnamed,
    /// The file itself, under its name.
    There,
}

impl OutputFile {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path.file_name().is_none() && !path.is_dir() {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error()));
        }
        let path = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // A file that cannot be written is refused now, not at the end; a link stays one.
                OpenOptions::new().write(true).open(path)?;
                fs::canonicalize(path)?
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self { file, path: path.to_owned(), place: Place::There });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let unnamed = OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::TMPFILE.bits() as i32)
            .mode(0o666)
            .open(folder.unwrap_or(Path::new(".")));
        match unnamed {
            Ok(file) => Ok(Self { file, path, place: Place::Unnamed }),
            // The folder, or its file system, has no room for files without names.
            Err(_) => {
                let file = File::create(&path)?;
                Ok(Self { file, path, place: Place::There })
            }
        }
    }

    /// The open file, for another writer.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The system cannot give the file its name.
    pub fn finish(self) -> io::Result<()> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        if matches!(self.place, Place::There) {
            return Ok(());
        }
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let link = |to: &Path| linkat(CWD, &open, CWD, to, AtFlags::SYMLINK_FOLLOW);
        match link(&self.path) {
            Err(rustix::io::Errno::EXIST) => {}
            result => return Ok(result?),
        }
        // The system can replace a name in one step, but cannot take it in one.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{}-{number}.new", process::id()));
        let new = PathBuf::from(name);
        link(&new)?;
        fs::rename(&new, &self.path).inspect_err(|_| drop(fs::remove_file(&new)))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        let mut next = OutputFile::create(&path).unwrap();
        next.write_all(b"more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        next.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"more");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_that_write_to_one_name_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let (mut one, mut two) =
            (OutputFile::create(&path).unwrap(), OutputFile::create(&path).unwrap());
        one.write_all(b"1111").unwrap();
        two.write_all(b"22").unwrap();
        two.finish().unwrap();
        one.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1111");
    }

    #[test]
    fn links_stay_and_devices_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut file = OutputFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mut full = OutputFile::create(Path::new("/dev/full")).unwrap();
        assert_eq!(full.write_all(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(OutputFile::create(folder.path()).is_err());
    }
}
