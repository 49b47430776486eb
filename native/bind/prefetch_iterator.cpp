// A Python iterator driven by a background thread.
#include "base/threads/prefetch_queue.hpp"

#include <set>

#include "bind/convert/arrays.hpp"

namespace thresher::bind {

namespace {

/// A Python reference that may be dropped on any thread: it acquires the GIL to do so.
class Held {
 public:
  Held() = default;
  Held(nb::object object, bool failed) : object_(object.release().ptr()), failed(failed) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)), failed(other.failed) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(failed, other.failed);
    return *this;
  }
  ~Held() {
    if (object_ == nullptr) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object_);
  }
  nb::object take() { return nb::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_ = nullptr;

 public:
  bool failed = false;  // the object is the exception that ended the iteration
};

/// Runs a Python iterator ahead of its consumer. The GIL is held only for the Python parts of the iteration, so two
/// native calls (parse there, learn here) run in parallel.
class AheadIterator {
 public:
  AheadIterator(const nb::object& iterator, std::size_t depth)
      : iterator_(checked(iterator)), ahead_([this] { return produce(); }, depth) {
    live().insert(this);
  }
  ~AheadIterator() {
    close();
    live().erase(this);
  }

  /// Stop all live iterators: their threads must not outlive the interpreter.
  static void close_all() {
    for (AheadIterator* each : live()) each->close();
  }

  nb::object next() {
    using Queue = Ahead<Held>;
    Held item;
    for (;;) {
      Queue::State state;
      {
        const nb::gil_scoped_release nogil;
        state = ahead_.next(item, std::chrono::milliseconds(50));
      }
      if (state == Queue::State::item) break;
      if (state == Queue::State::end) throw nb::stop_iteration();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::object out = item.take();
    if (item.failed) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(out.ptr())), out.ptr());
      throw nb::python_error();
    }
    return out;
  }

  void close() {
    {
      // The thread may be waiting for the GIL: never join it while holding the GIL.
      const nb::gil_scoped_release nogil;
      ahead_.stop();
    }
    iterator_.reset();  // a suspended generator closes its files now
  }

 private:
  std::optional<Held> produce() {
    if (ended_) return std::nullopt;
    const nb::gil_scoped_acquire gil;
    PyObject* item = PyIter_Next(iterator_.ptr());
    if (item != nullptr) return Held(nb::steal(item), false);
    ended_ = true;
    if (PyErr_Occurred() == nullptr) return std::nullopt;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return Held(nb::steal(value), true);
  }

  static const nb::object& checked(const nb::object& iterator) {
    if (!PyIter_Check(iterator.ptr())) throw nb::type_error("an iterator is needed");
    return iterator;
  }
  static std::set<AheadIterator*>& live() {
    static std::set<AheadIterator*> all;
    return all;
  }

  nb::object iterator_;
  bool ended_ = false;
  Ahead<Held> ahead_;
};

}  // namespace

void bind_ahead(nb::module_& m) {
  nb::class_<AheadIterator>(m, "Ahead")
      .def(nb::init<const nb::object&, std::size_t>(), nb::arg("iterator"), nb::arg("depth"))
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &AheadIterator::next)
      .def("close", &AheadIterator::close);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&AheadIterator::close_all));
}

}  // namespace thresher::bind
