//! What a bitstream was built from: a JSON file that goes with it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of the file's form.
pub const FORMAT: u32 = 1;

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// Its path in Corundum's tree; a name alone for an image.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl FileHash {
    /// Of these bytes.
    pub fn of(path: impl Into<String>, bytes: &[u8]) -> Self {
        Self { path: path.into(), bytes: bytes.len() as u64, sha256: sha256(bytes) }
    }

    /// Compares with other bytes.
    ///
    /// # Errors
    /// They are others.
    pub fn check(&self, bytes: &[u8]) -> Result<(), ManifestError> {
        let found = sha256(bytes);
        if found == self.sha256 && bytes.len() as u64 == self.bytes {
            return Ok(());
        }
        Err(ManifestError::Hash { expected: self.clone(), found, bytes: bytes.len() as u64 })
    }
}

/// What a bitstream was, or is to be, built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of this project.
    pub version: String,
    /// Name of the board.
    pub board: String,
    /// The board's FPGA.
    pub part: String,
    /// Commit of the Corundum tree; `None` if it is no git repository.
    pub corundum_commit: Option<String>,
    /// What `git describe` calls it.
    pub corundum_version: Option<String>,
    /// The hash that card and software compare before they work together.
    pub abi_hash: String,
    /// SHA-256 of docs/register-map.md.
    pub register_map_sha256: String,
    /// Corundum's parameters that were set.
    pub parameters: BTreeMap<String, String>,
    /// The files that go into the tree.
    pub files: Vec<FileHash>,
    /// The bitstream, once there is one.
    pub image: Option<FileHash>,
}

/// What is wrong with a manifest, or with what it describes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no manifest.
    #[error("{} is no manifest of a bitstream: {source}", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It has a form that is not known here.
    #[error("{} has format {found}, and format {FORMAT} is known here", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// A file is not the one of the manifest.
    #[error(
        "{} has SHA-256 {found} ({bytes} B), and its manifest has {} ({} B)",
        expected.path, expected.sha256, expected.bytes
    )]
    Hash {
        /// What the manifest has.
        expected: FileHash,
        /// The file's hash.
        found: String,
        /// The file's length.
        bytes: u64,
    },
    /// The manifest was not sealed.
    #[error(
        "{} has no image: it is of the sources; seal the bitstream with `cargo xtask seal`",
        .0.display()
    )]
    NotSealed(PathBuf),
}

impl Manifest {
    /// Where the manifest of an image is: `fpga.bit.json` beside `fpga.bit`.
    pub fn beside(image: &Path) -> PathBuf {
        let mut path = image.as_os_str().to_owned();
        path.push(".json");
        path.into()
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let path = path.to_owned();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) => return Err(ManifestError::File { path, source }),
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(manifest) if manifest.format == FORMAT => Ok(manifest),
            Ok(manifest) => Err(ManifestError::Format { path, found: manifest.format }),
            Err(source) => Err(ManifestError::Json { path, source }),
        }
    }

    /// The manifest as text.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a manifest is JSON");
        text + "\n"
    }

    /// Adds a bitstream that was built in the Corundum tree at `root`, whose files must be those of
    /// the manifest still; and writes the manifest beside it.
    ///
    /// # Errors
    /// A file is another one, or cannot be read or written.
    pub fn seal(mut self, root: &Path, image: &Path) -> Result<PathBuf, ManifestError> {
        let read = |path: &Path| {
            fs::read(path).map_err(|source| ManifestError::File { path: path.to_owned(), source })
        };
        for file in &self.files {
            file.check(&read(&root.join(&file.path))?)?;
        }
        let name = image.file_name().unwrap_or_default().to_string_lossy();
        self.image = Some(FileHash::of(name, &read(image)?));
        let path = Self::beside(image);
        let written = fs::write(&path, self.to_json());
        written.map_err(|source| ManifestError::File { path: path.clone(), source })?;
        Ok(path)
    }

    /// Compares an image with the manifest, which was read from `path`.
    ///
    /// # Errors
    /// It is another one, or the manifest has none.
    pub fn check_image(&self, path: &Path, image: &[u8]) -> Result<(), ManifestError> {
        let expected = self.image.as_ref();
        expected.ok_or_else(|| ManifestError::NotSealed(path.to_owned()))?.check(image)
    }
}
