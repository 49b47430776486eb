// A Python iterator driven by a background thread.
#include "base/threads/prefetch_queue.hpp"

#include <set>

#include "bind/convert/arrays.hpp"

namespace thresher::bind {

namespace {

/// A Python reference that may be dropped on any thread: it acquires the GIL to do so.
class PyReference {
 public:
  PyReference() = default;
  PyReference(nb::object object, bool is_exception, bool heavy = false)
      : object_(object.release().ptr()), is_exception(is_exception), heavy(heavy) {}
  PyReference(PyReference&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), is_exception(other.is_exception), heavy(other.heavy) {}
  PyReference& operator=(PyReference&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(is_exception, other.is_exception);
    std::swap(heavy, other.heavy);
    return *this;
  }
  ~PyReference() {
    if (object_ == nullptr) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object_);
  }
  nb::object take() { return nb::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_ = nullptr;

 public:
  bool is_exception = false;  // the object is the exception that ended the iteration
  bool heavy = false;         // the object takes more than its share of the memory
};

/// Runs a Python iterator of (batch, cursor) ahead of its consumer; batches of more than `heavy` bytes come one by one.
/// The GIL is held only for the Python parts of the iteration, so two
/// native calls (parse there, learn here) run in parallel.
class PrefetchIterator {
 public:
  PrefetchIterator(const nb::object& iterator, std::size_t depth, std::size_t heavy)
      : iterator_(checked(iterator)),
        heavy_(heavy),
        queue_([this] { return produce(); }, depth, [](const PyReference& item) { return item.heavy; }) {
    live().insert(this);
  }
  ~PrefetchIterator() {
    close();
    live().erase(this);
  }

  /// Stop all live iterators: their threads must not outlive the interpreter.
  static void close_all() {
    for (PrefetchIterator* each : live()) each->close();
  }

  nb::object next() {
    using Queue = PrefetchQueue<PyReference>;
    PyReference item;
    for (;;) {
      Queue::State state;
      {
        const nb::gil_scoped_release nogil;
        state = queue_.next(item, std::chrono::milliseconds(50));
      }
      if (state == Queue::State::item) break;
      if (state == Queue::State::end) throw nb::stop_iteration();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::object out = item.take();
    if (item.is_exception) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(out.ptr())), out.ptr());
      throw nb::python_error();
    }
    return out;
  }

  void close() {
    {
      // The thread may be waiting for the GIL: never join it while holding the GIL.
      const nb::gil_scoped_release nogil;
      queue_.stop();
    }
    iterator_.reset();  // a suspended generator closes its files now
  }

 private:
  std::optional<PyReference> produce() {
    if (ended_) return std::nullopt;
    const nb::gil_scoped_acquire gil;
    PyObject* item = PyIter_Next(iterator_.ptr());
    if (item != nullptr) {
      const nb::object object = nb::steal(item);
      return PyReference(object, false, heavy_ != 0 && nb::cast<std::size_t>(object[0].attr("nbytes")) > heavy_);
    }
    ended_ = true;
    if (PyErr_Occurred() == nullptr) return std::nullopt;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return PyReference(nb::steal(value), true);
  }

  static const nb::object& checked(const nb::object& iterator) {
    if (!PyIter_Check(iterator.ptr())) throw nb::type_error("an iterator is needed");
    return iterator;
  }
  static std::set<PrefetchIterator*>& live() {
    static std::set<PrefetchIterator*> all;
    return all;
  }

  nb::object iterator_;
  std::size_t heavy_;  // 0: no batch is
  bool ended_ = false;
  PrefetchQueue<PyReference> queue_;
};

}  // namespace

void bind_prefetch(nb::module_& m) {
  nb::class_<PrefetchIterator>(m, "PrefetchIterator")
      .def(nb::init<const nb::object&, std::size_t, std::size_t>(), nb::arg("iterator"), nb::arg("depth"),
           nb::arg("heavy") = 0)
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &PrefetchIterator::next)
      .def("close", &PrefetchIterator::close);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&PrefetchIterator::close_all));
}

}  // namespace thresher::bind
