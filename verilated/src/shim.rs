//! The C++ between a Verilated class and [`Model`](crate::Model): a few `extern "C"` functions.

use crate::coverage::Counting;
use crate::{Options, Source};
use std::fmt::Write;

/// The name that Verilator gives to the class.
pub(crate) const CLASS: &str = "Vmodel";

/// The text of the shim for `source`.
pub(crate) fn text(source: &Source, options: &Options) -> String {
    let (trace, counts) = (options.trace, options.coverage != Counting::Nothing);
    let mut ports = String::new();
    for (index, port) in source.ports.iter().enumerate() {
        let _ = writeln!(ports, "    case {index}: return &s->model.{};", port.name);
    }
    let clocked = source.ports.iter().any(|p| p.name == "clk" && p.width == 1);
    let eval_clock = if clocked { "s->model.clk = level; " } else { "" };
    let (include, member, start, stop, dump) = if trace {
        (
            "#include \"verilated_fst_c.h\"\n",
            "    VerilatedFstC* fst = nullptr;\n",
            "    s->fst = new VerilatedFstC; s->model.trace(s->fst, 99); s->fst->open(path);\n    return s->fst->isOpen();\n",
            "    if (s->fst) { s->fst->close(); delete s->fst; s->fst = nullptr; }\n",
            "    if (s->fst) s->fst->dump(time);\n",
        )
    } else {
        (
            "",
            "",
            "    (void)s; (void)path; return 0;\n",
            "    (void)s;\n",
            "    (void)s; (void)time;\n",
        )
    };
    let (include_symbols, counters) = match counts {
        true => (
            format!("#include \"{CLASS}__Syms.h\"\n"),
            "#if DRDMA_POINTS
    auto& counters = static_cast<Simulation*>(p)->model.rootp->vlSymsp->__Vcoverage;
    static_assert(sizeof(counters[0]) == sizeof(uint32_t), \"a counter has 32 bits\");
    *count = sizeof(counters) / sizeof(counters[0]);
    return counters;
#else
    (void)p; *count = 0; return nullptr;
#endif
",
        ),
        false => (String::new(), "    (void)p; *count = 0; return nullptr;\n"),
    };
    // Until the first clock edge registers hold the random bits that they began with: what they make run
    // is not counted.
    let (begun, forget) = match counts && clocked {
        true => (
            "    bool begun = false;\n",
            "
#if DRDMA_POINTS
    if (!s->begun) for (auto& counter : s->model.rootp->vlSymsp->__Vcoverage) counter = 0;
    s->begun = s->begun || level;
#endif
",
        ),
        false => ("", ""),
    };
    let trace_on = if trace { "    context.traceEverOn(true);\n" } else { "" };
    format!(
        r#"{include}{include_symbols}#include <cstdint>
namespace {{
struct Simulation {{
    VerilatedContext& context;
    {CLASS} model;
{member}{begun}    explicit Simulation(VerilatedContext& c) : context(c), model(&c, "top") {{}}
}};
}}
#define API extern "C" __attribute__((visibility("default")))
API void* drdma_new(uint32_t seed) {{
    VerilatedContext* made = new VerilatedContext;
    VerilatedContext& context = *made;
    context.randReset(2);
    context.randSeed(static_cast<int>(seed));
{trace_on}    return new Simulation(context);
}}
API int drdma_trace_open(void* p, const char* path) {{
    auto* s = static_cast<Simulation*>(p);
{start}}}
API void drdma_trace_close(void* p) {{
    auto* s = static_cast<Simulation*>(p);
{stop}}}
API void drdma_trace_dump(void* p, uint64_t time) {{
    auto* s = static_cast<Simulation*>(p);
{dump}}}
API const void* drdma_counters(void* p, uint32_t* count) {{
{counters}}}
API void drdma_delete(void* p) {{
    drdma_trace_close(p);
    auto* s = static_cast<Simulation*>(p);
    VerilatedContext* context = &s->context;
    s->model.final();
    delete s;
    delete context;
}}
API void drdma_eval(void* p) {{ static_cast<Simulation*>(p)->model.eval(); }}
API void drdma_eval_clock(void* p, uint8_t level) {{
    auto* s = static_cast<Simulation*>(p);
    {eval_clock}s->model.eval();{forget}
}}
API int drdma_finished(void* p) {{ return static_cast<Simulation*>(p)->context.gotFinish(); }}
API void* drdma_port(void* p, uint32_t index) {{
    auto* s = static_cast<Simulation*>(p);
    switch (index) {{
{ports}    default: return nullptr;
    }}
}}
"#
    )
}
