// Rotations from one form to another: quaternion, matrix, six numbers, rotation vector, Euler angles.
// A form is five words: which one, and what its variant says; see `read_rotation`. Matrices keep axes as rows here (vector.hpp),
// so axis[c] is the contract's column c.
#pragma once

#include <cmath>

#include "rigpact/vocabulary/turning.hpp"

namespace rigpact {
namespace vocabulary {

using Matrix = Mat3<double>;

using Form = ConvertReading;
constexpr int kFormWords = 5;
constexpr int kFormNumbers = 1;
inline int size_of(int form) {
    switch (static_cast<Form>(form)) {
        case Form::quaternion: return 4;
        case Form::matrix: return 9;
        case Form::six_numbers: return 6;
        default: return 3;
    }
}

inline Matrix matrix_of(const Quaternion& q) {
    const double x = q.xyzw[0], y = q.xyzw[1], z = q.xyzw[2], w = q.xyzw[3];
    return {{{{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)}},
             {{2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)}},
             {{2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)}}}};
}

// By the signs of the diagonal, then q / (|q| + 1e-8), as small runtimes do.
inline Quaternion sign_branches(const Matrix& matrix) {
    const Vector* m = matrix.axis;  // m[column][row]
    const double xx = m[0][0], yy = m[1][1], zz = m[2][2];
    const double xy = m[1][0] + m[0][1], xz = m[2][0] + m[0][2], yz = m[2][1] + m[1][2];
    const double x = m[1][2] - m[2][1], y = m[2][0] - m[0][2], z = m[0][1] - m[1][0];
    Quaternion q{{x, y, z, 1.0 + xx + yy + zz}};
    if (zz < 0.0) {
        q = xx > yy ? Quaternion{{1.0 + xx - yy - zz, xy, xz, x}} : Quaternion{{xy, 1.0 - xx + yy - zz, yz, y}};
    } else if (xx < -yy) {
        q = Quaternion{{xz, yz, 1.0 - xx - yy + zz, z}};
    }
    double sum = 0.0;
    for (double entry : q.xyzw) sum += entry * entry;
    for (double& entry : q.xyzw) entry /= std::sqrt(sum) + 1e-8;
    return q;
}

inline Vector nearly_unit(const Vector& v) { return v / (length(v) + 1e-8); }

// Columns from two axes: the third is their cross product, the second is made orthogonal to both.
inline Matrix of_axes(const Vector& first, const Vector& second, bool keeps_first) {
    const Vector third = nearly_unit(cross(first, second));
    return {{keeps_first ? first : nearly_unit(first), nearly_unit(cross(third, first)), third}};
}

// words of six numbers: interleaved, axes are rows, the first is kept as it is, the two are exchanged.
inline Matrix of_six(const int* words, const float* six) {
    Vector axes[2];
    for (int i = 0; i < 3; ++i) {
        axes[0][i] = six[words[0] ? 2 * i : i];
        axes[1][i] = six[words[0] ? 2 * i + 1 : i + 3];
    }
    const Matrix found = of_axes(axes[words[3] ? 1 : 0], axes[words[3] ? 0 : 1], words[2] != 0);
    return words[1] ? found.transposed() : found;
}
inline void write_six(const int* words, const Matrix& matrix, float* six) {
    const Matrix lines = words[1] ? matrix.transposed() : matrix;
    for (int k = 0; k < 2; ++k) {
        const Vector& axis = lines.axis[words[3] ? 1 - k : k];
        for (int i = 0; i < 3; ++i) six[words[0] ? 2 * i + k : i + 3 * k] = static_cast<float>(axis[i]);
    }
}

// The matrix of a turn about a coordinate axis.
inline Matrix turn_about(int axis, double angle) {
    const int one = (axis + 1) % 3, other = (axis + 2) % 3;
    Matrix m{};
    m.axis[axis][axis] = 1.0;
    m.axis[one][one] = m.axis[other][other] = std::cos(angle);
    m.axis[one][other] = std::sin(angle);
    m.axis[other][one] = -m.axis[one][other];
    return m;
}

// words of Euler angles: the axes in the order of their turns about fixed axes; whether the numbers stand the other way round.
inline Matrix of_euler(const int* words, double factor, const float* angles) {
    Matrix turns[3];
    for (int k = 0; k < 3; ++k) turns[k] = turn_about(words[k], angles[words[3] ? 2 - k : k] / factor);
    return turns[0] * (turns[1] * turns[2]);  // axes are rows: the first turn stands first
}
// At a middle angle of ±90 degrees, where the others are not determined, the first is 0.
inline void write_euler(const int* words, double factor, const Matrix& matrix, float* angles) {
    const int i = words[0], j = words[1], k = words[2];
    const Vector* m = matrix.axis;  // m[column][row]
    const double sign = (j - i + 3) % 3 == 1 ? 1.0 : -1.0, cosine = std::hypot(m[i][i], m[i][j]);
    const bool is_locked = cosine < 1e-7;
    const double found[3] = {
        is_locked ? 0.0 : std::atan2(sign * m[j][k], m[k][k]), std::atan2(-sign * m[i][k], cosine),
        is_locked ? std::atan2(-sign * m[j][i], m[j][j]) : std::atan2(sign * m[i][j], m[i][i])};
    for (int at = 0; at < 3; ++at) angles[words[3] ? 2 - at : at] = static_cast<float>(factor * found[at]);
}

// words: the form, then of its variant: a quaternion's order (what its entries are, four words); of a matrix whether it is
// column_major. number: a rotation vector is factor · vector in radians; Euler angles are divided by it.
inline Matrix read_rotation(const int* words, double number, const float* row) {
    switch (static_cast<Form>(words[0])) {
        case Form::quaternion: return matrix_of(quaternion_at(row, 0, words + 1));
        case Form::matrix: {
            const Matrix columns{{vector_at(row, 0), vector_at(row, 1), vector_at(row, 2)}};
            return words[1] ? columns : columns.transposed();
        }
        case Form::six_numbers: return of_six(words + 1, row);
        case Form::rotation_vector: return matrix_of(exponential(vector_at(row, 0) * (0.5 * number)));
        default: return of_euler(words + 1, number, row);
    }
}

// The way back; number: what a rotation vector is multiplied by, and Euler angles.
inline void write_rotation(const int* words, double number, const Matrix& matrix, float* row) {
    const Matrix lines = words[1] ? matrix : matrix.transposed();
    switch (static_cast<Form>(words[0])) {
        case Form::quaternion: return store(sign_branches(matrix), row, 0, words + 1);
        case Form::matrix:
            for (int i = 0; i < 3; ++i) store(lines.axis[i], row, i);
            return;
        case Form::six_numbers: return write_six(words + 1, matrix, row);
        case Form::rotation_vector: return store(rotation_vector(matrix) * number, row, 0);
        default: return write_euler(words + 1, number, matrix, row);
    }
}

// words: whether the inverse is written; the form that is read, and the one that is written. numbers: one of each form.
inline void convert(const Call& c) {
    const int *reads = c.words + 1, *writes = reads + kFormWords;
    const int size = size_of(reads[0]), new_size = size_of(writes[0]);
    for (int k = 0; k * new_size < c.width; ++k) {
        const Matrix matrix = read_rotation(reads, c.numbers[0], c.in[0] + k * size);
        write_rotation(writes, c.numbers[1], c.words[0] ? matrix.transposed() : matrix, c.out + k * new_size);
    }
}

static_assert(static_cast<int>(JointPositionsReading::euler) == static_cast<int>(Form::euler), "forms are numbered alike");

// words: how many rows are read; flags: rotations are local, the parent's stands first in a product, offsets are turned by the
// parent, rotations are transposed; the form; of each joint its parent. numbers: of the form; offsets. Reads rotations, then the root.
// A joint's offset is turned by one rotation of the chain after the other, so that none has to be kept.
inline void joint_positions(const Call& c) {
    const bool is_local = c.words[1] != 0, is_parent_first = c.words[2] != 0, is_by_parent = c.words[3] != 0;
    const int *form = c.words + 5, *parents = form + kFormWords, size = size_of(form[0]);
    const double* offsets = c.numbers + 1;
    const auto turned = [&](int joint, const Vector& v) {
        const Matrix read = read_rotation(form, c.numbers[0], c.in[0] + joint * size);
        const Matrix m = c.words[4] ? read.transposed() : read;
        return sum_of(sum_of(m.axis[0] * v[0], m.axis[1] * v[1]), m.axis[2] * v[2]);
    };
    for (int joint = 0; 3 * joint < c.width; ++joint) {
        Vector way{{offsets[3 * joint], offsets[3 * joint + 1], offsets[3 * joint + 2]}};
        const int parent = parents[joint], nearest = is_by_parent ? parent : joint;
        int depth = 0;
        for (int at = nearest; at >= 0 && joint > 0; at = is_local ? parents[at] : -1) ++depth;
        for (int k = 0; k < depth; ++k) {
            int at = nearest;
            for (int up = is_parent_first ? k : depth - 1 - k; up > 0; --up) at = parents[at];
            way = turned(at, way);
        }
        for (int i = 0; i < 3; ++i) {
            const double from = joint > 0 ? c.room[3 * parent + i] : c.words[0] > 1 ? c.in[1][i] : 0.0;
            c.room[3 * joint + i] = from + way[i];
            c.out[3 * joint + i] = static_cast<float>(c.room[3 * joint + i]);
        }
    }
}

}  // namespace vocabulary
}  // namespace rigpact
