//! A loaded model and its instances.

use crate::coverage::Counts;
use crate::{Direction, Error, Options, Port, Result, Source, Warning, Word};
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

type Instance = NonNull<c_void>;

/// The functions of the shim.
struct Functions {
    new: unsafe extern "C" fn(u32) -> *mut c_void,
    delete: unsafe extern "C" fn(Instance),
    eval: unsafe extern "C" fn(Instance),
    eval_clock: unsafe extern "C" fn(Instance, u8),
    finished: unsafe extern "C" fn(Instance) -> c_int,
    port: unsafe extern "C" fn(Instance, u32) -> *mut c_void,
    trace_open: unsafe extern "C" fn(Instance, *const c_char) -> c_int,
    trace_close: unsafe extern "C" fn(Instance),
    trace_dump: unsafe extern "C" fn(Instance, u64),
    counters: unsafe extern "C" fn(Instance, *mut u32) -> *const u32,
    /// Never unloaded: thread-local state of Verilator's run time may outlive every instance.
    _library: ManuallyDrop<libloading::Library>,
}

/// A Verilated design, loaded. Cheap to clone.
#[derive(Clone)]
pub struct Library {
    functions: Arc<Functions>,
    top: Arc<str>,
    ports: Arc<[Port]>,
    trace: bool,
    warnings: Arc<[Warning]>,
    /// Counts of its instances, if they count.
    counts: Option<Arc<Mutex<Counts>>>,
}

/// Verilator's random generator is shared by the instances of a library while they are made.
static MAKING: Mutex<()> = Mutex::new(());

/// Libraries that were loaded in this process, by device and inode. The files stay open, so that neither an inode
/// nor a descriptor's number, by which the loader knows a library, is used again.
type Loaded = Vec<((u64, u64), File, Arc<Functions>)>;
static LOADED: Mutex<Loaded> = Mutex::new(Vec::new());

/// Loads a verified library through its descriptor, as the name may lead elsewhere by now.
fn load(file: &File, path: &Path) -> Result<Arc<Functions>> {
    let metadata = file.metadata().map_err(Error::io(path))?;
    let place = (metadata.dev(), metadata.ino());
    let mut loaded = LOADED.lock().unwrap_or_else(|e| e.into_inner());
    if let Some((_, _, functions)) = loaded.iter().find(|(known, ..)| *known == place) {
        return Ok(functions.clone());
    }
    let file = file.try_clone().map_err(Error::io(path))?;
    let failed = |source| Error::Load { path: path.to_owned(), source };
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the library was built by this crate, as its hash says; its initialisers only set up
    // Verilator's run time, which needs nothing of the process.
    let library = unsafe { libloading::Library::new(descriptor) }.map_err(failed)?;
    // SAFETY: the shim defines every symbol with the type that the field declares.
    let functions = unsafe {
        Functions {
            new: *library.get(b"drdma_new").map_err(failed)?,
            delete: *library.get(b"drdma_delete").map_err(failed)?,
            eval: *library.get(b"drdma_eval").map_err(failed)?,
            eval_clock: *library.get(b"drdma_eval_clock").map_err(failed)?,
            finished: *library.get(b"drdma_finished").map_err(failed)?,
            port: *library.get(b"drdma_port").map_err(failed)?,
            trace_open: *library.get(b"drdma_trace_open").map_err(failed)?,
            trace_close: *library.get(b"drdma_trace_close").map_err(failed)?,
            trace_dump: *library.get(b"drdma_trace_dump").map_err(failed)?,
            counters: *library.get(b"drdma_counters").map_err(failed)?,
            _library: ManuallyDrop::new(library),
        }
    };
    let functions = Arc::new(functions);
    loaded.push((place, file, functions.clone()));
    Ok(functions)
}

impl Library {
    pub(crate) fn load(
        source: &Source,
        options: &Options,
        counts: Option<Counts>,
        warnings: Vec<Warning>,
        file: &File,
        path: &Path,
    ) -> Result<Self> {
        Ok(Self {
            functions: load(file, path)?,
            top: source.top.as_str().into(),
            ports: source.ports.as_slice().into(),
            trace: options.trace,
            warnings: warnings.into(),
            counts: counts.map(|counts| Arc::new(Mutex::new(counts))),
        })
    }

    /// A new instance. Registers without an initial value start with bits drawn from `seed`.
    pub fn instance(&self, seed: u64) -> Model {
        // Verilator takes 31 bits and reads 0 as "draw one".
        let seed = ((seed ^ (seed >> 32)) & 0x7fff_ffff).max(1) as u32;
        let making = MAKING.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: `drdma_new` takes any seed and returns a new instance that the model owns.
        let instance = NonNull::new(unsafe { (self.functions.new)(seed) }).expect("an instance");
        drop(making);
        let slot = |index: usize| {
            // SAFETY: the instance is alive; the shim answers every index of the port list with
            // the address of that port inside the instance.
            let address = unsafe { (self.functions.port)(instance, index as u32) };
            NonNull::new(address).expect("the shim knows every port")
        };
        let slots = (0..self.ports.len()).map(slot).collect();
        Model { library: self.clone(), instance, slots, time: 0, tracing: false }
    }

    /// What Verilator's `-Wall` says of the design beside what stops a build, and what
    /// [`ALLOWANCES`](crate::ALLOWANCES) covers: signals that nothing reads.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The ports, in the order of the source.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The port called `name`.
    ///
    /// # Errors
    /// There is no such port.
    pub fn port(&self, name: &str) -> Result<PortHandle> {
        match self.ports.iter().position(|p| p.name == name) {
            Some(index) => Ok(PortHandle(index as u32)),
            None => Err(Error::UnknownPort {
                top: self.top.to_string(),
                port: name.to_owned(),
                known: self.ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// A port of a model, found once by name; valid for every instance of one library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortHandle(u32);

/// A port by handle (fast) or by name (looked up at every use).
pub trait PortRef {
    /// The handle in `library`.
    ///
    /// # Panics
    /// The name is not a port.
    fn handle(&self, library: &Library) -> PortHandle;
}

impl PortRef for PortHandle {
    fn handle(&self, _: &Library) -> PortHandle {
        *self
    }
}

impl PortRef for str {
    fn handle(&self, library: &Library) -> PortHandle {
        library.port(self).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl PortRef for String {
    fn handle(&self, library: &Library) -> PortHandle {
        self.as_str().handle(library)
    }
}

impl<P: PortRef + ?Sized> PortRef for &P {
    fn handle(&self, library: &Library) -> PortHandle {
        (**self).handle(library)
    }
}

/// One instance of a design.
///
/// The clock is the input `clk`. Every cycle is [`settle`](Self::settle) (inputs reach the
/// outputs with the clock low) and [`tick`](Self::tick) (the rising edge).
pub struct Model {
    library: Library,
    instance: Instance,
    slots: Vec<NonNull<c_void>>,
    time: u64,
    tracing: bool,
}

// SAFETY: an instance has its own Verilator context and is only reached through this value;
// nothing in it is bound to the thread that made it.
unsafe impl Send for Model {}

impl Model {
    /// The library that this is an instance of.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The port called `name`.
    ///
    /// # Errors
    /// There is no such port.
    pub fn port(&self, name: &str) -> Result<PortHandle> {
        self.library.port(name)
    }

    /// The width of a port in bits.
    pub fn width(&self, port: impl PortRef) -> usize {
        self.library.ports[port.handle(&self.library).0 as usize].width
    }

    fn slot(&self, port: impl PortRef) -> (NonNull<c_void>, &Port) {
        let index = port.handle(&self.library).0 as usize;
        (self.slots[index], &self.library.ports[index])
    }

    /// Drives an input of at most 64 bits.
    ///
    /// # Panics
    /// The port is unknown, an output, or too narrow for the value.
    pub fn set(&mut self, port: impl PortRef, value: u64) {
        self.set_wide(port, &[value as u32, (value >> 32) as u32]);
    }

    /// Drives an input of any width from little-endian words; missing words are zero.
    ///
    /// # Panics
    /// The port is unknown, an output, or too narrow for the value.
    pub fn set_wide(&mut self, port: impl PortRef, value: &[u32]) {
        let (slot, port) = self.slot(port);
        let width = port.width;
        assert!(port.direction == Direction::Input, "{} is an output", port.name);
        let fits = value.iter().enumerate().all(|(i, &word)| {
            let left = width.saturating_sub(32 * i);
            left >= 32 || u64::from(word) >> left == 0
        });
        assert!(
            fits,
            "{:?} does not fit port {} of {width} bits",
            Word::from_words(value),
            port.name
        );
        let word = |i: usize| value.get(i).copied().unwrap_or(0);
        // SAFETY: `slot` is the address of this port in a live instance that `self` owns.
        // Verilator stores up to 8, 16, 32 and 64 bits in integers of that size, and wider
        // ports in an array of `width / 32` words, rounded up.
        unsafe {
            match width {
                0..=8 => slot.cast::<u8>().write(word(0) as u8),
                9..=16 => slot.cast::<u16>().write(word(0) as u16),
                17..=32 => slot.cast::<u32>().write(word(0)),
                33..=64 => {
                    slot.cast::<u64>().write(u64::from(word(0)) | (u64::from(word(1)) << 32))
                }
                _ => {
                    let words =
                        std::slice::from_raw_parts_mut(slot.cast().as_ptr(), width.div_ceil(32));
                    let given = value.len().min(words.len());
                    words[..given].copy_from_slice(&value[..given]);
                    words[given..].fill(0);
                }
            }
        }
    }

    /// Drives an input with a [`Word`].
    ///
    /// # Panics
    /// The port is unknown, an output, or too narrow for the value.
    pub fn set_word(&mut self, port: impl PortRef, value: &Word) {
        self.set_wide(port, value.words());
    }

    /// Reads a port; of a port wider than 64 bits the low 64.
    ///
    /// # Panics
    /// The port is unknown.
    pub fn get(&self, port: impl PortRef) -> u64 {
        let mut words = [0; 2];
        self.get_wide(port, &mut words);
        u64::from(words[0]) | (u64::from(words[1]) << 32)
    }

    /// Reads a port of any width into little-endian words; words above the width become zero.
    ///
    /// # Panics
    /// The port is unknown.
    pub fn get_wide(&self, port: impl PortRef, into: &mut [u32]) {
        let (slot, port) = self.slot(port);
        into.fill(0);
        // SAFETY: as in `set_wide`; reading needs no exclusive access because only `self` writes.
        unsafe {
            match port.width {
                0..=8 => into[0] = u32::from(slot.cast::<u8>().read()),
                9..=16 => into[0] = u32::from(slot.cast::<u16>().read()),
                17..=32 => into[0] = slot.cast::<u32>().read(),
                33..=64 => {
                    let value = slot.cast::<u64>().read();
                    into[0] = value as u32;
                    if let Some(high) = into.get_mut(1) {
                        *high = (value >> 32) as u32;
                    }
                }
                width => {
                    let words =
                        std::slice::from_raw_parts(slot.cast().as_ptr(), width.div_ceil(32));
                    let wanted = into.len().min(words.len());
                    into[..wanted].copy_from_slice(&words[..wanted]);
                }
            }
        }
    }

    /// Reads a port as a [`Word`].
    ///
    /// # Panics
    /// The port is unknown.
    pub fn get_word(&self, port: impl PortRef) -> Word {
        let handle = port.handle(&self.library);
        let mut words = vec![0; self.width(handle).div_ceil(32)];
        self.get_wide(handle, &mut words);
        Word::from_words(&words)
    }

    /// Evaluates the design with the inputs as they are.
    pub fn eval(&mut self) {
        // SAFETY: the instance is alive and exclusively borrowed.
        unsafe { (self.library.functions.eval)(self.instance) }
    }

    fn eval_clock(&mut self, level: u8) {
        // SAFETY: the instance is alive and exclusively borrowed.
        unsafe { (self.library.functions.eval_clock)(self.instance, level) }
        if self.tracing {
            // SAFETY: as above; the trace is open.
            unsafe { (self.library.functions.trace_dump)(self.instance, self.time) }
        }
        self.time += 1;
    }

    /// The first half of a cycle: clock low, the outputs follow the inputs.
    pub fn settle(&mut self) {
        self.eval_clock(0);
    }

    /// The second half of a cycle: the rising edge of `clk`.
    pub fn tick(&mut self) {
        self.eval_clock(1);
    }

    /// One whole cycle.
    pub fn cycle(&mut self) {
        self.settle();
        self.tick();
    }

    /// Half cycles since the start.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Whether the design has executed `$finish`.
    pub fn finished(&self) -> bool {
        // SAFETY: the instance is alive.
        unsafe { (self.library.functions.finished)(self.instance) != 0 }
    }

    /// Writes an FST waveform from now on.
    ///
    /// # Errors
    /// The model was built without tracing, or the file cannot be created.
    pub fn open_trace(&mut self, path: impl AsRef<Path>) -> Result<()> {
        if !self.library.trace {
            return Err(Error::NoTrace { top: self.library.top.to_string() });
        }
        let path = path.as_ref();
        let failed = |kind: std::io::ErrorKind| Error::io(path)(kind.into());
        let text = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| failed(std::io::ErrorKind::InvalidInput))?;
        self.close_trace();
        let open = self.library.functions.trace_open;
        // SAFETY: the instance is alive; the path is a C string that the call does not keep.
        self.tracing = unsafe { open(self.instance, text.as_ptr()) != 0 };
        if self.tracing { Ok(()) } else { Err(failed(std::io::ErrorKind::PermissionDenied)) }
    }

    /// Completes the waveform file.
    pub fn close_trace(&mut self) {
        self.tracing = false;
        // SAFETY: the instance is alive; closing without an open trace does nothing.
        unsafe { (self.library.functions.trace_close)(self.instance) }
    }
}

impl Model {
    /// Adds the counts of this instance to those of its library.
    fn count(&self) {
        let Some(counts) = &self.library.counts else { return };
        let mut number = 0;
        // SAFETY: the instance is alive, and `number` can be written.
        let counters = unsafe { (self.library.functions.counters)(self.instance, &mut number) };
        let mine = match counters.is_null() {
            true => &[][..],
            // SAFETY: the shim gives the address of that many counters inside the instance, which only
            // `eval` writes; `self` is not evaluated while the slice is in use.
            false => unsafe { std::slice::from_raw_parts(counters, number as usize) },
        };
        let added = counts.lock().unwrap_or_else(|e| e.into_inner()).add(mine);
        if let Err(error) = added {
            eprintln!("warning: what {} has counted is lost: {error}", self.library.top);
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.count();
        // SAFETY: the instance is alive and not used after this.
        unsafe { (self.library.functions.delete)(self.instance) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn accumulator() -> Source {
        let text = "module acc(input wire clk, input wire rst, input wire [99:0] x,
            input wire [39:0] y, output reg [99:0] sum, output reg [39:0] last, output reg [11:0] lazy);
            always @(posedge clk) begin
                sum <= rst ? 100'd0 : sum + x;
                last <= y;
                if (y == 40'd1) lazy <= y[11:0];
            end
        endmodule";
        Source::new("acc").verilog("acc.v", text).ports([
            Port::input("clk", 1),
            Port::input("rst", 1),
            Port::input("x", 100),
            Port::input("y", 40),
            Port::output("sum", 100),
            Port::output("last", 40),
            Port::output("lazy", 12),
        ])
    }

    #[test]
    fn wide_ports_carry_their_values() {
        let mut model = accumulator().build(&Options::default()).unwrap().instance(1);
        model.set("rst", 1);
        model.cycle();
        model.set("rst", 0);
        let x = Word::from(0x7_0000_0001_0000_0002_0000_0003_u128);
        model.set_word("x", &x);
        model.set("y", 0xab_cdef_0123);
        model.cycle();
        model.cycle();
        assert_eq!(model.get_word("sum").to_u128(), 2 * x.to_u128());
        assert_eq!(model.get("last"), 0xab_cdef_0123);
        std::thread::spawn(move || model.cycle()).join().unwrap();
    }

    #[test]
    fn state_without_an_initial_value_depends_on_the_seed_only() {
        let library = accumulator().build(&Options::default()).unwrap();
        let lazy = |seed| library.instance(seed).get("lazy");
        assert_eq!(lazy(5), lazy(5));
        assert!((1..10).any(|seed| lazy(seed) != lazy(100)));
    }

    #[test]
    fn an_unknown_port_is_named_with_those_that_exist() {
        let library = accumulator().build(&Options::default()).unwrap();
        let message = library.port("total").unwrap_err().to_string();
        assert_eq!(
            message,
            "acc has no port `total`; its ports are clk, rst, x, y, sum, last, lazy"
        );
    }

    #[test]
    #[should_panic(expected = "0x100_00000000 does not fit port y of 40 bits")]
    fn a_value_that_is_too_wide_is_refused() {
        let mut model = accumulator().build(&Options::default()).unwrap().instance(1);
        model.set("y", 1 << 40);
    }

    #[test]
    fn a_trace_is_written() {
        let options = Options { trace: true, ..Options::default() };
        let mut model = accumulator().build(&options).unwrap().instance(1);
        let path = std::env::temp_dir().join(format!("drdma-trace-{}.fst", std::process::id()));
        model.open_trace(&path).unwrap();
        (0..10).for_each(|_| model.cycle());
        drop(model);
        assert!(std::fs::metadata(&path).unwrap().len() > 100);
        std::fs::remove_file(path).unwrap();
    }
}
